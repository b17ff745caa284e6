// A tool's builds with short tokens that are bound to namespaces and rights. Every tool's test file gives its
// own build, and the order of builds here is the same for all of them.
//
// Each build that runs its action makes a content that no other has, so the content says whose result a
// build got, whatever the tool reports.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { expect, onTestFinished } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { TOKEN } from './rig.ts';

export interface Grant {
  readonly token: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface ScopedBuild {
  /** All that the tool printed. */
  readonly said: string;
  /** Another one for each execution. */
  readonly made: string;
}

export interface ScopedTool {
  /** Builds from these words as the source, without outputs and local caches. Throws if the tool fails. */
  build(words: string, url: string, grant: Grant): Promise<ScopedBuild>;
  /** What the tool prints if it got the result from the server, and only then. Undefined: it prints nothing. */
  readonly hit: RegExp | undefined;
  /** What the tool prints if its write is denied. Undefined: it prints nothing. */
  readonly denied: RegExp | undefined;
  /** True if the tool asks whether it may write, and does not try. */
  readonly asksFirst?: boolean;
  /** With a revoked token: what the tool's failure says. Undefined: it builds. */
  readonly revoked: RegExp | undefined;
  /** The tool starts slowly. Outside of the soak: main builds, a pull request hits, a reader is denied. */
  readonly isSlow?: boolean;
  readonly serverArgs?: readonly string[];
  /** The certificate of a server with TLS. */
  readonly ca?: string;
}

const DENIED =
  /^assay_denied_total\{route="[\w-]+"\} [1-9]|^assay_grpc_calls_total\{.*"PERMISSION_DENIED"\} [1-9]/m;

/** A command of a shell, for a file that no two executions make alike. */
export const MAKE = 'cat /proc/sys/kernel/random/uuid > out/made';

const MAIN = 'acme/app/main';
const IDENTITIES = {
  main: ['--namespace', MAIN],
  pullRequest: ['--namespace', 'acme/app/pr/7', '--reads', MAIN],
  reader: ['--namespace', MAIN, '--rights', 'read'],
  revoked: ['--namespace', MAIN],
};

export async function checkScopedBuilds(shop: Workshop, tool: ScopedTool): Promise<void> {
  const { url, grants, metrics } = await serverWithTokens(shop, tool);
  const build = (words: string, who: keyof typeof IDENTITIES) => tool.build(words, url, grants[who]);
  const built = async (words: string, who: keyof typeof IDENTITIES) => {
    const { said, made } = await build(words, who);
    if (tool.hit) expect(said, `${words} by ${who}`).not.toMatch(tool.hit);
    return { said, made };
  };
  const hit = async (words: string, who: keyof typeof IDENTITIES, from: ScopedBuild) => {
    const { said, made } = await build(words, who);
    if (tool.hit) expect(said, `${words} by ${who}`).toMatch(tool.hit);
    expect(made, `${words} by ${who}`).toBe(from.made);
  };
  const isShort = tool.isSlow && soak(20, 1) === 1;

  const ofMain = await built('first words', 'main');
  await hit('first words', 'pullRequest', ofMain);
  if (!isShort) {
    const changed = await built('words of a pull request', 'pullRequest');
    const own = await built('words of a pull request', 'main');
    expect(own.made).not.toBe(changed.made);
    await hit('words of a pull request', 'pullRequest', changed);
    await hit('first words', 'reader', ofMain);
  }

  const denied = await built('words of a reader', 'reader');
  if (!tool.asksFirst) expect(await metrics()).toMatch(DENIED);
  if (tool.denied) expect(denied.said).toMatch(tool.denied);
  if (!isShort) expect((await built('words of a reader', 'main')).made).not.toBe(denied.made);

  if (isShort) return;
  if (tool.revoked) await expect(build('first words', 'revoked')).rejects.toThrow(tool.revoked);
  else expect((await built('first words', 'revoked')).made).not.toBe(ofMain.made);
}

async function serverWithTokens(shop: Workshop, { serverArgs = [], ca }: ScopedTool) {
  const file = join(shop.folder, 'tokens.json');
  const long: Record<string, string> = {};
  for (const [name, args] of Object.entries(IDENTITIES)) {
    const ran = await shop.assay(['token', 'create', name, ...args, '--tokens', file]);
    expect(ran.code, ran.stderr).toBe(0);
    long[name] = ran.stdout.trim();
  }
  const args = ['--tokens', file, ...serverArgs];
  const server = await ServerProcess.start(shop.store, { args, env: { ASSAY_TOKEN: TOKEN } });
  onTestFinished(() => server.stop());
  const dispatcher = new Agent(ca === undefined ? {} : { connect: { ca } });
  onTestFinished(() => dispatcher.close());
  const get = async (path: string, token: string) => {
    const answer = await request(`${server.url}${path}`, {
      dispatcher,
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  };
  const exchange = (name: keyof typeof IDENTITIES) => shortToken(server.url, long[name] ?? '', dispatcher);
  const grants = {
    main: await exchange('main'),
    pullRequest: await exchange('pullRequest'),
    reader: await exchange('reader'),
    revoked: await exchange('revoked'),
  };
  await shop.assay(['token', 'revoke', 'revoked', '--tokens', file]);
  while ((await get('/metrics', grants.revoked.token)).status !== 401) await pause(20);
  return { url: server.url, grants, metrics: async () => (await get('/metrics', TOKEN)).text };
}

async function shortToken(url: string, token: string, dispatcher: Agent): Promise<Grant> {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token: token,
  });
  const answer = await request(`${url}/auth/token`, {
    method: 'POST',
    dispatcher,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  });
  expect(answer.statusCode).toBe(200);
  const granted: { access_token: string; s3_access_key: string; s3_secret_key: string } = JSON.parse(
    await answer.body.text(),
  );
  return {
    token: granted.access_token,
    accessKey: granted.s3_access_key,
    secretKey: granted.s3_secret_key,
  };
}
