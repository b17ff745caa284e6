// `assay completion`: a real bash completes commands and flags by the printed script.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

/** What bash proposes for the last of these words. */
function proposals(script: string, words: readonly string[]): string[] {
  const asked = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    [[ "$(complete -p assay)" == *"-F _assay"* ]] || exit 9
    _assay; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--norc', '-c', asked, 'bash', join(shop.workspace, script), ...words];
  return execFileSync('bash', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

test('bash completes commands, the flags of each command, and nothing after --', async () => {
  const { stdout, code } = await shop.assay(['completion', 'bash']);
  expect(code).toBe(0);
  shop.write('script', stdout);
  const complete = (...words: string[]) => proposals('script', ['assay', ...words]);
  expect(complete('ini')).toEqual(['init']);
  expect(complete('')).toEqual(expect.arrayContaining(['run', 'serve', 'completion']));
  expect(complete('run', '--herm')).toEqual(['--hermetic']);
  expect(complete('init', '--herm')).toEqual([]);
  expect(complete('init', '--')).toEqual(['--store', '--agents', '--help']);
  expect(complete('run', '--', '--herm')).toEqual([]);
  expect(complete('sto')).toEqual(['store']);
  expect(complete('store', 'm')).toEqual(['migrate']);
  expect(complete('store', 'migrate', '--f')).toEqual(['--from']);
  expect(complete('store', 'verify', '--f')).toEqual([]);
});

test('each printed flag is one that the command takes', async () => {
  const { stdout } = await shop.assay(['completion', 'fish']);
  const flags = [...stdout.matchAll(/from gc' -l (\S+) -d/g)].map(([, flag]) => `--${flag}`);
  const { stdout: help } = await shop.assay(['gc', '--help']);
  expect(flags.length).toBeGreaterThan(1);
  for (const flag of flags) if (flag !== '--help') expect(help).toContain(flag);
});

test('another shell, or none: exit code 2, and the three are named', async () => {
  for (const args of [[], ['tcsh'], ['bash', 'zsh'], ['constructor']]) {
    const { code, stderr } = await shop.assay(['completion', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('bash|zsh|fish')]);
  }
});
