// The scripts of examples/ci, as a runner of GitHub or GitLab runs them: they install a pinned package, log in with the
// job's own token, and the second job has hits of the first. The runner and its issuer are stand-ins.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { parseDocument } from '../../../core/config/document.ts';
import { Identities } from '../../../server/access/identities.ts';
import { ShortTokens } from '../../../server/access/short-tokens.ts';
import { CLIENT_FORM, FORMS, type Ran, runProcess, Workshop } from '../../../test/rig/assay.ts';
import { OidcIssuer } from '../../../test/rig/oidc/issuer.ts';
import { type TestServer, testServer } from '../../../test/server/rig.ts';
import { parseIssuers } from '../issuers/config.ts';
import { OidcIssuers } from '../issuers/issuers.ts';

const CI = join(import.meta.dirname, '../../../examples/ci');
const ACTION = join(CI, 'github-action');

const CLAIMS = {
  repository: 'acme/app',
  repository_id: '74',
  repository_owner_id: '65',
  ref: 'refs/heads/main',
  event_name: 'push',
  run_id: '900',
};

const STEPS =
  '{ "steps": { "build": { "command": "cp in.txt out.txt", "inputs": ["in.txt"], "outputs": ["out.txt"] } } }';

let shop: Workshop;
let issuer: OidcIssuer;
let server: TestServer;
let pinned: { readonly package: string; readonly sha256: string };

beforeEach(async () => {
  shop = new Workshop();
  onTestFinished(() => shop.remove());
  issuer = await OidcIssuer.start();
  await issuer.setJob(CLAIMS);
  const issuers = new OidcIssuers([]);
  const identities = new Identities({
    own: [],
    issuers,
    shortTokens: new ShortTokens(() => Buffer.alloc(32, 9)),
  });
  server = await testServer({ identities, tokenExchange: identities });
  const repositories = [{ id: 74, owner: 65, namespace: 'acme/app' }];
  const config = [{ issuer: issuer.url, kind: 'github', audience: [server.url], repositories }];
  issuers.configure(parseIssuers(parseDocument({ file: 'c', text: JSON.stringify(config) })));
  pinned = await serveRelease();
});

/** A package in the form of the client's, whose command is the one of this checkout. */
async function serveRelease(): Promise<typeof pinned> {
  const folder = join(shop.folder, 'release/package');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    '{ "name": "assay", "version": "0.0.1", "bin": { "assay": "assay" } }',
  );
  writeFileSync(join(folder, 'assay'), `#!/bin/sh\nexec ${FORMS[CLIENT_FORM].join(' ')} "$@"\n`, {
    mode: 0o755,
  });
  const archive = execFileSync('tar', ['--create', '--gzip', '--directory', join(folder, '..'), 'package']);
  const files = createServer((_, response) => response.end(archive)).listen(0, '127.0.0.1');
  onTestFinished(() => void files.close());
  await new Promise((resolve) => files.once('listening', resolve));
  const { port } = files.address() as AddressInfo;
  return {
    package: `http://127.0.0.1:${port}/assay-0.0.1-linux-x64.tgz`,
    sha256: createHash('sha256').update(archive).digest('hex'),
  };
}

interface Job {
  readonly workspace: string;
  readonly env: Record<string, string>;
}

/** A fresh machine: nothing of an earlier job is there. */
function freshJob(name: string): Job {
  const workspace = shop.another(name);
  writeFileSync(join(workspace, 'assay.json'), STEPS);
  writeFileSync(join(workspace, 'in.txt'), 'input');
  const home = shop.another(`${name}-home`);
  const env = {
    PATH: `${home}/npm/bin:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    NPM_CONFIG_PREFIX: `${home}/npm`,
  };
  return { workspace, env: { ...env, CI: 'true', ASSAY_STORE: join(home, 'store') } };
}

const isInstalled = ({ env }: Job) => existsSync(join(env.HOME ?? '', 'npm/bin/assay'));

async function bash(script: string, { workspace, env }: Job): Promise<Ran> {
  return runProcess(['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
    cwd: workspace,
    env,
  });
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default?: string }>>;
  readonly runs: { readonly steps: readonly ActionStep[] };
}

interface ActionStep {
  readonly if?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly run: string;
}

/** Runs the steps of the action one by one, with the variables that each leaves for the next. */
async function github(job: Job, given: Readonly<Record<string, string>>): Promise<Ran[]> {
  const { inputs, runs }: Action = parse(readFileSync(join(ACTION, 'action.yml'), 'utf8'));
  const values: Record<string, string> = { 'github.action_path': ACTION };
  for (const [name, { default: value = '' }] of Object.entries(inputs))
    values[`inputs.${name}`] = given[name] ?? value;
  const file = join(job.workspace, '../github-env');
  writeFileSync(file, '');
  const ofRunner = {
    GITHUB_ACTIONS: 'true',
    GITHUB_ENV: file,
    ACTIONS_ID_TOKEN_REQUEST_URL: `${issuer.url}/id-token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-job',
  };
  const ran: Ran[] = [];
  for (const step of runs.steps) {
    const left = Object.fromEntries(
      readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split(/=(.*)/s, 2)),
    );
    const lookup = (name: string) => values[name] ?? left[name.replace(/^env\./, '')] ?? '';
    const expand = (text: string) =>
      text.replaceAll(
        /\$\{\{ (.*?) \}\}/g,
        (_, names: string) => names.split(' || ').map(lookup).find(Boolean) ?? '',
      );
    const [name = '', value] = step.if?.split(/ == '(.*)'/) ?? [];
    if (step.if !== undefined && lookup(name) !== value) continue;
    const own = Object.entries(step.env ?? {}).map(([variable, text]) => [variable, expand(text)]);
    ran.push(
      await bash(expand(step.run), {
        ...job,
        env: { ...job.env, ...ofRunner, ...left, ...Object.fromEntries(own) },
      }),
    );
    if (ran.at(-1)?.code !== 0) break;
  }
  return ran;
}

/** Runs a job that extends the hidden job of the component. */
async function gitlab(job: Job, inputs: Readonly<Record<string, string>>): Promise<Ran[]> {
  const text = readFileSync(join(CI, 'gitlab/assay.gitlab-ci.yml'), 'utf8');
  const [head = '', body = ''] = text.split(/^---$/m);
  const declared: Readonly<Record<string, { readonly default: string }>> = parse(head).spec.inputs;
  const filled = body.replaceAll(
    /\$\[\[ inputs\.(\w+) \]\]/g,
    (_, name) => inputs[name] ?? declared[name]?.default ?? '',
  );
  const { variables, script } = parse(filled)['.assay'];
  const ofRunner = {
    GITLAB_CI: 'true',
    ASSAY_REMOTE: server.url,
    ASSAY_ID_TOKEN: await issuer.sign({ claims: { ...CLAIMS, aud: server.url } }),
  };
  return [await bash(script.join('\n'), { ...job, env: { ...job.env, ...variables, ...ofRunner } })];
}

const RUNNERS = {
  GitHub: (job: Job, given: Readonly<Record<string, string>>) =>
    github(job, { steps: 'build', remote: server.url, oidc: 'true', ...given }),
  GitLab: gitlab,
};

const said = (ran: readonly Ran[]) => ran.map(({ stdout, stderr }) => stdout + stderr).join('');

describe.each(Object.entries(RUNNERS))('%s', (_, runner) => {
  test('installs the pinned package, logs in, and a later job hits', async () => {
    const first = await runner(freshJob('first'), pinned);
    expect(first.at(-1)?.code, said(first)).toBe(0);
    expect(said(first)).toMatch(/logged in to .*: writes acme\/app\/main/);
    expect(said(first)).toMatch(/1 ran/);
    const second = await runner(freshJob('second'), pinned);
    expect(second.at(-1)?.code, said(second)).toBe(0);
    expect(said(second)).toMatch(/hit \(remote\)/);
  });

  test('refuses a package with other bytes, and an address without a digest', async () => {
    const job = freshJob('job');
    const other = await runner(job, { ...pinned, sha256: '0'.repeat(64) });
    expect(other.at(-1)?.code).toBe(1);
    expect(said(other)).toMatch(/assay-0\.0\.1\.tgz: FAILED/);
    const unpinned = await runner(job, { package: pinned.package });
    expect(unpinned.at(-1)?.code).not.toBe(0);
    expect(said(unpinned)).toContain('pin the package');
    expect(isInstalled(job)).toBe(false);
  });
});
