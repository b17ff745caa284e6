// Two workspaces, one server: the second gets the results of the first. Each protocol behaves the same.
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { ServerProcess } from '../../rig/server.ts';
import { describeTree } from '../../rig/tree.ts';

let shop: Workshop;
let server: ServerProcess;

beforeEach(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(`${shop.folder}/server`);
});

afterEach(async () => {
  await server.stop();
  shop.remove();
});

const FILES: readonly (readonly [string, string, number])[] = [
  ['src/a.txt', 'alpha\n', 0o644],
  ['src/run.sh', '#!/bin/sh\necho hello\n', 0o755],
  [
    'make.sh',
    '#!/bin/sh\nset -e\nmkdir -p out/empty\ncp src/* out/\nln -s a.txt out/link\nhead -c 300000 /dev/zero > out/large\necho built\necho careful >&2\n',
    0o755,
  ],
];

function fill(workspace: string): void {
  for (const [path, content, mode] of FILES) shop.write(path, content, mode, workspace);
}

const FLAGS = ['--input', 'src/**', '--input', 'make.sh', '--output', 'out'];

function build(url: string, workspace: string, store: string, env: Record<string, string> = {}) {
  return shop.run(['--remote', url, '--store', `${shop.folder}/${store}`, ...FLAGS, '--', './make.sh'], {
    cwd: workspace,
    env,
  });
}

describe.each(['http', 'grpc'])('over %s', (protocol) => {
  const url = () => server.url.replace(/^http/, protocol);

  test('the second workspace has a remote hit with the same bytes, modes and links', async () => {
    const [one, two] = [shop.another('one'), shop.another('some where else')];
    fill(one);
    fill(two);
    const first = await build(url(), one, 'store-1');
    expect(first.summary).toMatchObject({ outcome: 'miss', published: true, shared: true });
    const second = await build(url(), two, 'store-2');
    expect(second.summary).toMatchObject({ outcome: 'hit-remote', key: first.summary.key });
    expect(describeTree(two)).toEqual(describeTree(one));
    expect(second.stdout).toBe(first.stdout);
    expect(second.stderr).toContain('careful\n');
    const third = await build(url(), two, 'store-2');
    expect(third.summary.outcome).toBe('hit-local');
  });

  test('a namespace in the URL separates results', async () => {
    const [one, two] = [shop.another('one'), shop.another('two')];
    fill(one);
    fill(two);
    const at = (workspace: string, store: string, space: string) =>
      shop.run(
        ['--remote', `${url()}/${space}`, '--store', `${shop.folder}/${store}`, ...FLAGS, '--', './make.sh'],
        {
          cwd: workspace,
        },
      );
    expect((await at(one, 's1', 'team/a')).summary.shared).toBe(true);
    expect((await at(two, 's2', 'team/b')).summary.outcome).toBe('miss');
    expect((await at(two, 's3', 'team/a')).summary.outcome).toBe('hit-remote');
  });

  test('the client sends ASSAY_TOKEN to a server that requires it, and is refused without it', async () => {
    await server.stop();
    server = await ServerProcess.start(`${shop.folder}/server`, { env: { ASSAY_TOKEN: 'sesame' } });
    const [one, two] = [shop.another('one'), shop.another('two')];
    fill(one);
    fill(two);
    const refused = await build(url(), one, 's0');
    expect(refused.code).toBe(0);
    expect(refused.summary).toMatchObject({ outcome: 'miss', published: true, shared: false });
    expect(refused.summary.warnings.join()).toContain('ASSAY_TOKEN');
    expect((await build(url(), one, 's1', { ASSAY_TOKEN: 'sesame' })).summary.shared).toBe(true);
    expect((await build(url(), two, 's2', { ASSAY_TOKEN: 'sesame' })).summary.outcome).toBe('hit-remote');
  });

  test('a result whose blobs the remote lost is a miss, and is uploaded again', async () => {
    const [one, two] = [shop.another('one'), shop.another('two')];
    fill(one);
    fill(two);
    await build(url(), one, 's1');
    await server.stop();
    rmSync(`${shop.folder}/server`, { recursive: true });
    server = await ServerProcess.start(`${shop.folder}/server`);
    expect((await build(url(), two, 's2')).summary).toMatchObject({ outcome: 'miss', shared: true });
    rmSync(`${two}/out`, { recursive: true });
    expect((await build(url(), two, 's3')).summary.outcome).toBe('hit-remote');
  });
});

/** A chain of three steps; the first is not on the remote, and cannot be uploaded. */
describe.each(['http', 'grpc'])('a remote that refuses writes, over %s', (protocol) => {
  const step = (name: string) => ({
    command: `cp ${name}.txt ${name}.out`,
    inputs: [`${name}.txt`],
    outputs: [`${name}.out`],
  });
  const config = JSON.stringify({ steps: { a: step('a'), b: step('b'), c: step('c') } });

  function runIn(workspace: string, url: string, store: string) {
    return runSteps(shop, ['--remote', url, '--store', `${shop.folder}/${store}`, '--jobs', '1', '*'], {
      cwd: workspace,
    });
  }

  test('still gives hits after it has refused an upload', async () => {
    const [one, two] = [shop.another('one'), shop.another('two')];
    for (const workspace of [one, two]) {
      shop.write('assay.json', config, 0o644, workspace);
      for (const name of ['a', 'b', 'c']) shop.write(`${name}.txt`, name, 0o644, workspace);
    }
    expect((await runIn(one, server.url, 'store-1')).summary.misses).toBe(3);
    await server.stop();
    server = await ServerProcess.start(`${shop.folder}/server`, { args: ['--read-only'] });
    shop.write('a.txt', 'changed', 0o644, two);
    const ran = await runIn(two, server.url.replace(/^http/, protocol), 'store-2');
    expect(ran.outcomes).toEqual({ a: 'miss', b: 'hit-remote', c: 'hit-remote' });
    expect(ran.summary.warnings).toHaveLength(1);
    expect(ran.summary.warnings[0]).toContain('the remote takes no results, they stay in the local store');
  });
});

test('a remote that is down is reported once for all steps, and again at the end', async () => {
  const steps = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [
      `s${at}`,
      { command: `echo ${at} > ${at}.out`, inputs: [], outputs: [`${at}.out`] },
    ]),
  );
  shop.write('assay.json', JSON.stringify({ steps }));
  const ran = await shop.assay(['run', '--remote', 'http://127.0.0.1:9', '*']);
  expect(ran.code).toBe(0);
  const lines = ran.stderr.split('\n').filter((line) => line.includes('the remote is not usable'));
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/^assay: the remote/);
  expect(lines[1]).toMatch(/^ {2}! the remote/);
});
