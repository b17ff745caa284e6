// The origin of a run for the receipt of its result: where it ran, and which commit was checked out.
// Results are shared. So a receipt has the address of a CI job or the name of a machine, and nothing else of
// the environment: no user, no path, no value of another variable.
//
// The commit is read from the files of .git; git is not started. Whether files differ from that commit would
// take a scan of the whole tree, so it is left out.
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { digestOf } from '../../core/digest.ts';
import { isCommit, isWhere, type RunOrigin } from '../../core/metadata/receipt.ts';
import { VERSION } from '../../core/version.ts';
import { userName } from '../../system/process/password-file.ts';
import type { Variables } from '../action/environment.ts';
import { gitCheckout, readIfThere } from '../files/git-folder.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { RUN } from '../limits.ts';

/** Read when a command has run; a hit reads nothing of this. */
export function originOf({ request, inputs }: KeyedAction, caller: Variables): RunOrigin {
  const where = placeOf(caller);
  const commit = checkedOutCommit(request.workspace);
  const files = inputs.entries().filter(({ kind }) => kind !== 'directory');
  return {
    assay: VERSION,
    inputs: files.length,
    ...(where !== undefined && { where }),
    ...(commit !== undefined && { commit }),
  };
}

/** The operator's name for this machine, else the CI job, else the machine's name. */
export function placeOf(caller: Variables): string | undefined {
  const named = [caller.ASSAY_WHERE, ...CI_JOBS.map((job) => addressOf(job(caller))), machineName()];
  return named.find((text) => text !== undefined && isWhere(text));
}

type CiJob = (variables: Variables) => string | undefined;

/** How each CI system tells a job its own address. */
const CI_JOBS: readonly CiJob[] = [
  /* GitHub, Gitea and Forgejo */
  ({ GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run }) =>
    server && repository && run && `${server}/${repository}/actions/runs/${run}`,
  /* GitLab */
  ({ CI_JOB_URL }) => CI_JOB_URL,
  /* Woodpecker */
  ({ CI_PIPELINE_URL }) => CI_PIPELINE_URL,
  ({ BUILDKITE_BUILD_URL }) => BUILDKITE_BUILD_URL,
  ({ CIRCLE_BUILD_URL }) => CIRCLE_BUILD_URL,
  ({ TRAVIS_JOB_WEB_URL }) => TRAVIS_JOB_WEB_URL,
  ({ DRONE_BUILD_LINK }) => DRONE_BUILD_LINK,
  /* Jenkins */
  ({ JENKINS_URL, BUILD_URL }) => (JENKINS_URL ? BUILD_URL : undefined),
  /* Azure Pipelines */
  ({ SYSTEM_COLLECTIONURI: server, SYSTEM_TEAMPROJECT: project, BUILD_BUILDID: build }) =>
    server && project && build && `${server}${encodeURIComponent(project)}/_build/results?buildId=${build}`,
  /* Bitbucket */
  ({ BITBUCKET_GIT_HTTP_ORIGIN: origin, BITBUCKET_BUILD_NUMBER: build }) =>
    origin && build && `${origin}/pipelines/results/${build}`,
];

/** Without a name, a password and a fragment. */
function addressOf(text: string | undefined): string | undefined {
  if (!text || !URL.canParse(text)) return undefined;
  const { protocol, host, pathname, searchParams } = new URL(text);
  const build = searchParams.get('buildId');
  const query = build !== null && /^\d+$/.test(build) ? `?buildId=${build}` : '';
  return /^https?:$/.test(protocol) ? `${protocol}//${host}${pathname}${query}` : undefined;
}

/** Not the domain. A name that contains the user's is replaced by a pseudonym. */
function machineName(): string | undefined {
  const [name = ''] = hostname().split('.');
  if (!name) return undefined;
  const user = tellingUserName();
  const tells = user !== undefined && name.toLowerCase().includes(user.toLowerCase());
  return tells ? `machine-${digestOf(Buffer.from(name)).hash.slice(0, 8)}` : name;
}

/** Undefined for a user without a name, and for names that every machine has. */
function tellingUserName(): string | undefined {
  const name = userName();
  return name.length < 3 || name === 'root' ? undefined : name;
}

/** Undefined outside a repository, before the first commit, and with a reference format that is no files. */
export function checkedOutCommit(workspace: string): string | undefined {
  try {
    const folder = gitCheckout(workspace)?.folder;
    return folder && commitOf(readIfThere(join(folder, 'HEAD')) ?? '', folder);
  } catch {
    return undefined;
  }
}

function commitOf(head: string, folder: string): string | undefined {
  const ref = /^ref: (refs\/\S+)\n?$/.exec(head)?.[1];
  const text = ref === undefined ? head.trim() : refCommit(ref, folder);
  return text !== undefined && isCommit(text) ? text : undefined;
}

/** The branches of a worktree are in the folder of its repository. */
function refCommit(ref: string, folder: string): string | undefined {
  const common = readIfThere(join(folder, 'commondir'));
  const shared = common === undefined ? folder : resolve(folder, common.trim());
  const loose = readIfThere(join(shared, ref))?.trim();
  if (loose !== undefined) return loose;
  const packed = join(shared, 'packed-refs');
  const stats = statSync(packed, { throwIfNoEntry: false });
  if (!stats || stats.size > RUN.maxPackedRefsBytes) return undefined;
  const line = readFileSync(packed, 'latin1')
    .split('\n')
    .find((one) => one.endsWith(` ${ref}`));
  return line?.split(' ')[0];
}
