// Jobs of main and of pull requests against `assay serve --config`, from their CI token to their hits. Issuer,
// server and runs are processes of their own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';
import { OidcIssuer } from '../../../test/rig/oidc/issuer.ts';
import { folder, Serve } from '../../../test/server/commands/serve-process.ts';
import { type Answer, ask } from '../../../test/server/rig.ts';

const AUDIENCE = 'https://cache.example';

let issuer: OidcIssuer;
let place: string;
let config: string;

beforeEach(async () => {
  issuer = await OidcIssuer.start();
  place = folder();
  config = join(place, 'server.json');
  configure({ id: 74, owner: 65, namespace: 'acme/app', main: 'refs/heads/main' });
});

function configure(repository: object): void {
  const issuers = [{ issuer: issuer.url, kind: 'github', audience: AUDIENCE, repositories: [repository] }];
  const comment = '// The cache of acme\n';
  const settings = { listen: { port: 0 }, store: { folder: join(place, 'store') }, issuers };
  writeFileSync(config, comment + JSON.stringify(settings));
}

function claims(event_name: string, ref: string, more: object = {}): Record<string, unknown> {
  const ids = { repository_id: '74', repository_owner_id: '65', run_id: '900' };
  return { aud: AUDIENCE, repository: 'acme/app', ...ids, event_name, ref, base_ref: '', ...more };
}

/** A job on a runner of its own: it logs in, and runs one step with what it got. */
class Job {
  readonly #shop = new Workshop();
  readonly #env: Record<string, string>;

  private constructor(url: string, token: string) {
    onTestFinished(() => this.#shop.remove());
    this.#env = { ASSAY_REMOTE: url, ASSAY_TOKEN: token };
  }

  static async of(url: string, job: Record<string, unknown>): Promise<Job> {
    return new Job(url, await login(url, job));
  }

  get token(): string {
    return this.#env.ASSAY_TOKEN ?? '';
  }

  /** How the step went, and what it made. */
  async build(input: string): Promise<string> {
    this.#shop.write('input', input);
    const step = ['--input', 'input', '--output', 'made', '--', 'cp', 'input', 'made'];
    const { summary } = await this.#shop.run(step, { env: this.#env });
    return summary.outcome;
  }
}

/** What `assay login` does (login.test.ts). */
async function login(url: string, job: Record<string, unknown>): Promise<string> {
  const answer = await exchange(url, await issuer.sign({ claims: job }));
  const { access_token, error_description } = JSON.parse(answer.body.toString());
  if (answer.status !== 200) throw new Error(error_description);
  return access_token;
}

function exchange(url: string, subject_token: string): Promise<Answer> {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    subject_token,
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return ask(`${url}/auth/token`, 'POST', { headers, body: Buffer.from(form.toString()) });
}

const MAIN = claims('push', 'refs/heads/main');
const PULL_REQUEST = claims('pull_request', 'refs/pull/5/merge', { base_ref: 'main' });

test.each([
  ['pull_request', PULL_REQUEST],
  ['pull_request_target', claims('pull_request_target', 'refs/heads/main', { base_ref: 'main' })],
  ['workflow_run', claims('workflow_run', 'refs/heads/main')],
])('a run of %s reads what main made, and main never reads what it made', async (_event, job) => {
  const url = await new Serve(['--config', config]).url();
  expect(await (await Job.of(url, MAIN)).build('of main')).toBe('miss');
  const untrusted = await Job.of(url, job);
  expect(await untrusted.build('of main')).toBe('hit-remote');
  expect(await untrusted.build('of another')).toBe('miss');
  expect(await (await Job.of(url, job)).build('of another')).toBe('hit-remote');
  expect(await (await Job.of(url, MAIN)).build('of another')).toBe('miss');
});

test('a token stays valid when the server starts again, and a rule counts from SIGHUP on', async () => {
  const first = new Serve(['--config', config]);
  const { token } = await Job.of(await first.url(), PULL_REQUEST);
  first.child.kill('SIGKILL');
  await first.ended();
  const second = new Serve(['--config', config]);
  const url = await second.url();
  const status = async (presented: string) =>
    (await ask(`${url}/cas/${'0'.repeat(64)}`, 'GET', { headers: { authorization: `Bearer ${presented}` } }))
      .status;
  expect([await status(token), await status(`${token}x`)]).toEqual([404, 401]);
  configure({ id: 75, owner: 65, namespace: 'acme/other' });
  second.child.kill('SIGHUP');
  await second.said('reloaded the configuration');
  await second.said('count for no quota before a restart');
  await login(url, { ...MAIN, repository_id: '75' });
  await expect(login(url, MAIN)).rejects.toThrow('no rule of this server applies');
  configure({ id: 75, owner: 65, namespace: 'acme/pr' });
  second.child.kill('SIGHUP');
  await second.said('is kept for pull requests');
  await login(url, { ...MAIN, repository_id: '75' });
  expect(second.stderr).not.toContain(token.split('.')[1]);
});

test('a CI token is taken once, also after a restart; by a read-only server until its restart', async () => {
  const subject = await issuer.sign({ claims: { ...MAIN, jti: null } });
  const exchanged = async (...flags: string[]) => {
    const server = new Serve(['--config', config, ...flags]);
    const url = await server.url();
    const answers = [await exchange(url, subject), await exchange(url, subject)];
    server.child.kill('SIGKILL');
    await server.ended();
    return answers.map(({ status }) => status);
  };
  expect(await exchanged('--read-only')).toEqual([200, 400]);
  expect(await exchanged()).toEqual([200, 400]);
  expect(await exchanged()).toEqual([400, 400]);
  expect(await exchanged('--read-only')).toEqual([400, 400]);
});
