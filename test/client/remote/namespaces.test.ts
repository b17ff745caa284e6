// `assay run` with scoped tokens, against a real server: a pull request reads main's results and never writes
// them, and what a token denies costs only hits.
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;
let server: ServerProcess;
let tokens: string;

beforeEach(async () => {
  shop = new Workshop();
  tokens = `${shop.folder}/tokens.json`;
  writeFileSync(tokens, '{"tokens": []}');
  server = await ServerProcess.start(`${shop.folder}/server`, { args: ['--tokens', tokens] });
});

afterEach(async () => {
  await server.stop();
  shop.remove();
});

async function token(name: string, namespace: string, ...flags: readonly string[]): Promise<string> {
  const made = await shop.assay([
    'token',
    'create',
    name,
    '--namespace',
    namespace,
    ...flags,
    '--tokens',
    tokens,
  ]);
  expect(made.code, made.stderr).toBe(0);
  return made.stdout.trim();
}

describe.each(['http', 'grpc'])('over %s', (protocol) => {
  let number = 0;

  /** Each run is on a machine of its own: a workspace at the same path, and an empty local store. */
  async function build(asToken: string, source: string) {
    shop.write('in.txt', source);
    const flags = [
      '--remote',
      server.url.replace(/^http/, protocol),
      '--store',
      `${shop.folder}/${number++}`,
    ];
    const ran = await shop.run(
      [...flags, '--input', 'in.txt', '--output', 'out', '--', 'cp', 'in.txt', 'out'],
      {
        env: { ASSAY_TOKEN: asToken },
      },
    );
    expect(ran.code, ran.stderr).toBe(0);
    return ran;
  }

  test('a pull request reads main’s results and can never write them', async () => {
    const main = await token('main', 'acme/app/main');
    const pull = await token('pull', 'acme/app/pr/1', '--reads', 'acme/app/main');
    const sibling = await token('sibling', 'acme/app/pr/2', '--reads', 'acme/app/main');
    const other = await token('other', 'rival/app/main');
    await build(main, 'of main');
    const hit = await build(pull, 'of main');
    expect(hit.summary).toMatchObject({ outcome: 'hit-remote', receipt: { namespace: 'acme/app/main' } });
    expect(hit.summary.reason).toBe('found in the remote cache, in acme/app/main');
    expect((await build(pull, 'of the pull request')).summary).toMatchObject({
      outcome: 'miss',
      shared: true,
    });
    expect((await build(pull, 'of the pull request')).summary).toMatchObject({
      outcome: 'hit-remote',
      receipt: { namespace: 'acme/app/pr/1' },
    });
    for (const somebody of [sibling, other, main])
      expect((await build(somebody, 'of the pull request')).summary.outcome).toBe('miss');
    expect((await build(other, 'of main')).summary.outcome).toBe('miss');
  });

  test('a token that may not write costs the sharing, and one that is unknown costs the hits', async () => {
    const main = await token('main', 'acme/app/main');
    const reader = await token('reader', 'acme/app/main', '--rights', 'read');
    await build(main, 'known');
    expect((await build(reader, 'known')).summary.outcome).toBe('hit-remote');
    const denied = await build(reader, 'new');
    expect(denied.summary).toMatchObject({ outcome: 'miss', published: true, shared: false });
    expect((await build(main, 'new')).summary.outcome).toBe('miss');
    const unknown = await build('assay_nobody-has-this', 'known');
    expect(unknown.summary).toMatchObject({ outcome: 'miss', published: true, shared: false });
  });
});
