// Every example runs as its README says, in a copy, and ends as it promises.
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { baseEnvironment, type Ran, runProcess, Workshop } from '../rig/assay.ts';

const PROJECT = join(import.meta.dirname, '..', '..');
const EXAMPLES = join(PROJECT, 'examples');

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

async function runExample(name: string): Promise<Ran> {
  const copy = join(shop.workspace, name);
  cpSync(join(EXAMPLES, name), copy, { recursive: true });
  const PATH = `${join(PROJECT, 'node_modules', '.bin')}:${process.env.PATH}`;
  const env = { ...baseEnvironment(), PATH, ASSAY: join(PROJECT, 'bin', 'assay'), ASSAY_STORE: shop.store };
  return runProcess([join(copy, 'run.sh')], { cwd: copy, env });
}

const outcomes = ({ stderr }: Ran) =>
  [...stderr.matchAll(/^assay: (hit \(\w+\)|miss)/gm)].map(([, outcome]) => outcome);

/** What a worker of Bazel did, as its log has it. */
const workerOutcomes = ({ stdout }: Ran) =>
  [...stdout.matchAll(/^assay: (hit-local|miss)/gm)].map(([, outcome]) => outcome);

const CHECKS: Readonly<Record<string, (ran: Ran) => void>> = {
  'bazel-worker': (ran) => {
    expect(workerOutcomes(ran)).toEqual(['miss', 'miss', 'hit-local', 'hit-local', 'miss']);
    expect(ran.stdout).toContain('words/hello.txt changed');
    expect(ran.stderr.match(/shouted 4 words/g)).toHaveLength(2);
    expect(ran.stdout.match(/GOOD BYE AND THANKS/g)).toHaveLength(3);
    expect(ran.stdout).toContain('A WORD MORE');
  },
  'c-make': (ran) => {
    const [first, again, header] = [
      outcomes(ran).slice(0, 3),
      outcomes(ran).slice(3, 6),
      outcomes(ran).slice(6),
    ];
    expect(first).toEqual(['miss', 'miss', 'miss']);
    expect(again).toEqual(['hit (local)', 'hit (local)', 'hit (local)']);
    expect(header).toEqual(['miss', 'miss', 'miss']);
    expect(ran.stdout).toContain('hello, world\n');
    expect(ran.stdout).toContain('hello, cache\n');
    expect(ran.stdout).toContain('What differs:');
  },
  ci: (ran) => {
    const [first = '', second = '', summary = ''] = ran.stdout.split(/^== .*\n/m).slice(1);
    expect(first).toMatch(/^::group::build {2}ran .*\nbuilt\n::endgroup::$/m);
    expect(second).toMatch(/^::group::build {2}hit \(local\)/m);
    expect(summary).toContain('| build | ran |');
    expect(summary).toContain('| build | hit (local) |');
  },
  'first-step': (ran) => {
    expect(outcomes(ran)).toEqual(['miss', 'hit (local)', 'miss']);
    expect(ran.stderr).toContain('NODE_ENV was added (production)');
    expect(ran.stderr).toContain('2 steps: 1 hit, 1 ran');
    expect(ran.stderr).toContain('2 steps: 2 hit');
    expect(ran.stderr).not.toContain('not declared');
    expect(ran.stdout).toContain('not hermetic: 5 findings');
  },
  library: (ran) => {
    expect(ran.stdout).toMatch(/^miss: never seen\nhit-local: found in the local store\nkey [0-9a-f]{64}\n/);
    expect(ran.stdout).toContain('stored 5 bytes as 2cf24dba5fb0');
  },
  monorepo: (ran) => {
    expect(ran.stderr).toContain('3 steps: 3 ran');
    expect(ran.stderr).toContain('3 steps: 3 hit');
    expect(ran.stderr).toContain('3 steps: 1 hit, 2 ran');
    expect(ran.stderr).toContain('app/main.c changed: app#build');
    expect(ran.stdout).toContain('hello, graph');
  },
  checkpoint: (ran) => {
    const [, checkpoint] = /starting from checkpoint (\d+)/.exec(ran.stderr) ?? [];
    expect(Number(checkpoint), ran.stderr).toBeLessThan(40); // not the last: it was really killed
    expect(ran.stdout).toContain('the same model');
  },
  'typescript-package': (ran) => {
    expect(outcomes(ran)).toEqual(['miss', 'hit (local)', 'miss', 'hit (local)']);
    expect(ran.stderr).toContain('src/shout.ts changed');
    expect(ran.stdout).toContain('toUpperCase');
  },
  'two-runners': (ran) => {
    expect(outcomes(ran)).toEqual(['miss', 'hit (remote)']);
    expect(ran.stdout.match(/sorted/g)).toHaveLength(2);
    expect(ran.stdout).toContain('both have the same file');
  },
};

test('every example is checked', () => {
  expect(Object.keys(CHECKS).sort()).toEqual(readdirSync(EXAMPLES).sort());
});

test.each(Object.entries(CHECKS))('%s', { timeout: 240_000 }, async (name, check) => {
  const ran = await runExample(name);
  expect(ran.code, ran.stderr).toBe(0);
  check(ran);
});
