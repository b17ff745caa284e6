// The repository and the branch of a run: as the CI job names them, else from the files of .git. git is not started.
import { basename, isAbsolute, join, resolve } from 'node:path';
import type { Variables } from '../action/environment.ts';
import { gitCheckout, readIfThere } from '../files/git-folder.ts';

interface CheckedOut {
  /** Host and path, such as github.com/acme/app. */
  readonly repository?: string;
  readonly branch?: string;
}

export function checkedOut(workspace: string, variables: Variables): CheckedOut {
  const repository = repositoryOf(workspace, variables);
  const branch = branchInJob(variables) ?? readGit(workspace).branch;
  return { ...(repository && { repository }), ...(branch && { branch }) };
}

export function repositoryOf(workspace: string, variables: Variables): string | undefined {
  const address = repositoryInJob(variables) ?? readGit(workspace).remote ?? '';
  return repositoryNameOf(address) || undefined;
}

/** The last name of an origin that is a folder of this machine. */
export function localOrigin(workspace: string): string | undefined {
  const { remote = '' } = readGit(workspace);
  const path = remote.replace(/^file:\/\//, '');
  return isAbsolute(path) ? basename(path.replace(/\/\.git\/?$/, ''), '.git') || undefined : undefined;
}

function repositoryInJob(variables: Variables): string | undefined {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: path } = variables;
  if (server && path) return `${server}/${path}`;
  const { CI_PROJECT_URL, CI_REPO_URL, BUILDKITE_REPO, CIRCLE_REPOSITORY_URL, DRONE_REPO_LINK, GIT_URL } =
    variables;
  const { BUILD_REPOSITORY_URI, BITBUCKET_GIT_HTTP_ORIGIN } = variables;
  return [
    CI_PROJECT_URL,
    CI_REPO_URL,
    BUILDKITE_REPO,
    CIRCLE_REPOSITORY_URL,
    DRONE_REPO_LINK,
    GIT_URL,
    BUILD_REPOSITORY_URI,
    BITBUCKET_GIT_HTTP_ORIGIN,
  ].find(Boolean);
}

/** A pull request runs on a commit that is on no branch: its job names the branch. */
function branchInJob(variables: Variables): string | undefined {
  const { GITHUB_HEAD_REF, GITHUB_REF_NAME, CI_MERGE_REQUEST_SOURCE_BRANCH_NAME, CI_COMMIT_REF_NAME } =
    variables;
  const { CI_COMMIT_BRANCH, BUILDKITE_BRANCH, CIRCLE_BRANCH, DRONE_BRANCH, BRANCH_NAME } = variables;
  const { BUILD_SOURCEBRANCHNAME, BITBUCKET_BRANCH, TRAVIS_BRANCH } = variables;
  return [
    GITHUB_HEAD_REF,
    GITHUB_REF_NAME,
    CI_MERGE_REQUEST_SOURCE_BRANCH_NAME,
    CI_COMMIT_REF_NAME,
    CI_COMMIT_BRANCH,
    BUILDKITE_BRANCH,
    CIRCLE_BRANCH,
    DRONE_BRANCH,
    BRANCH_NAME,
    BUILD_SOURCEBRANCHNAME,
    BITBUCKET_BRANCH,
    TRAVIS_BRANCH,
  ].find(Boolean);
}

/** Without scheme, user, password, query and ".git". Undefined for a local folder. */
export function repositoryNameOf(address: string): string | undefined {
  const [, host = '', path = ''] =
    /^(?:[a-z+]+:\/\/)?(?:[^/@\s]+@)?([a-z0-9][\w.-]*(?::\d+)?)[/:]([^\s?#]+)/i.exec(address) ?? [];
  const name = path.replace(/^\/+|(?:\.git)?\/*$/g, '');
  return host.includes('.') || address.includes('://') ? host && name && `${host}/${name}` : undefined;
}

function readGit(workspace: string): {
  readonly remote?: string | undefined;
  readonly branch?: string | undefined;
} {
  try {
    const folder = gitCheckout(workspace)?.folder;
    if (folder === undefined) return {};
    const branch = /^ref: refs\/heads\/(.+)$/m.exec(readIfThere(join(folder, 'HEAD')) ?? '')?.[1];
    return { branch, remote: remoteIn(folder) };
  } catch {
    return {};
  }
}

/** The address of origin. A worktree has the configuration of its repository. */
function remoteIn(folder: string): string | undefined {
  try {
    const common = readIfThere(join(folder, 'commondir'));
    const shared = common === undefined ? folder : resolve(folder, common.trim());
    const config = readIfThere(join(shared, 'config')) ?? '';
    const section = /^\[remote "origin"\]\s*$([^[]*)/m.exec(config)?.[1] ?? '';
    return /^\s*url\s*=\s*(\S+)\s*$/m.exec(section)?.[1];
  } catch {
    return undefined;
  }
}
