// A replayed log equals the original: both streams, their bytes, their order.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { baseEnvironment, DEFAULT_FORM, FORMS, Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

const TALK = 'for i in 1 2 3; do echo out$i; sleep 0.05; echo err$i >&2; sleep 0.05; done';

/** Sends both streams into one pipe, as a terminal shows them. */
function together(command: string): string {
  const line = [...FORMS[DEFAULT_FORM], 'run', '--', 'sh', '-c', command]
    .map((word) => `'${word}'`)
    .join(' ');
  const env = { ...baseEnvironment(), ASSAY_STORE: shop.store };
  return spawnSync('/bin/sh', ['-c', `${line} 2>&1`], { cwd: shop.workspace, env, encoding: 'utf8' }).stdout;
}

test('a replay keeps the order between standard output and standard error', () => {
  const said = 'out1\nerr1\nout2\nerr2\nout3\nerr3\n';
  const first = together(TALK);
  expect(first).toMatch(/^out1\nerr1\n[\s\S]*assay: miss/);
  const second = together(TALK);
  expect(second.slice(0, said.length)).toBe(said);
  expect(second).toContain('assay: hit (local)');
});

test('binary output, and output too long to inline, is replayed', async () => {
  shop.script('noise.sh', 'head -c 300000 /dev/zero | tr "\\0" "\\377"; printf "\\001\\002" >&2; exit 0');
  const run = () =>
    spawnSync(
      FORMS[DEFAULT_FORM][0],
      [FORMS[DEFAULT_FORM][1], 'run', '--input', 'noise.sh', '--', './noise.sh'],
      {
        cwd: shop.workspace,
        env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
        maxBuffer: 1 << 24,
      },
    );
  const first = run();
  const second = run();
  expect(first.stdout.length).toBe(300_000);
  expect(second.stdout.equals(first.stdout)).toBe(true);
  expect(second.stderr.subarray(0, 2)).toEqual(Buffer.from([1, 2]));
  expect(second.stderr.toString('latin1')).toContain('hit (local)');
});

test('a closed pipe does not fail the run', () => {
  const line = [...FORMS[DEFAULT_FORM], 'run', '--', 'seq', '1', '200000'].join(' ');
  const env = { ...baseEnvironment(), ASSAY_STORE: shop.store };
  const script = `set -o pipefail; ${line} | head -n 1`;
  const ran = spawnSync('/bin/bash', ['-c', script], {
    cwd: shop.workspace,
    env,
    encoding: 'utf8',
    timeout: 90_000,
  });
  expect(ran.stdout).toBe('1\n');
  expect(ran.status).toBe(0);
  expect(ran.stderr).toContain('assay: miss');
});

test('the command’s standard input is empty', () => {
  const env = { ...baseEnvironment(), ASSAY_STORE: join(shop.folder, 'store') };
  const ran = spawnSync(FORMS[DEFAULT_FORM][0], [FORMS[DEFAULT_FORM][1], 'run', '--', 'cat'], {
    cwd: shop.workspace,
    env,
    input: 'typed',
    encoding: 'utf8',
  });
  expect(ran.stdout).toBe('');
  expect(ran.status).toBe(0);
});
