// Scratch folders that are used again. P1 to P3 are the invariants at the top of client/process/scratch-pool.ts.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type EmptyScratch, ScratchPool, stampOf } from '../../../client/process/scratch-pool.ts';
import type { Access, TraceReport } from '../../../hermeticity/trace/access.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../../system/files/temporary-folder.ts';
import { absPath } from '../../../system/paths/absolute-path.ts';
import { RUNTIME_FORMS, Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';

let scratch: EmptyScratch;
let pool: ScratchPool;

beforeEach(() => {
  const root = temporaryFolder('run');
  for (const name of ['home', 'tmp']) mkdirSync(join(root, name));
  scratch = stampOf(root);
  pool = new ScratchPool();
});

afterEach(() => {
  pool.close();
  removeTemporaryFolder(scratch.root);
});

function traceOf(accesses: readonly Access[] = [], more: Partial<TraceReport> = {}): TraceReport {
  return {
    tracer: { name: 'test', version: '1' },
    exit: { code: 0 },
    processes: [],
    accesses,
    complete: true,
    gaps: [],
    ...more,
  };
}

const occurrence = { process: 0, atMs: 0 };
const inTmp = (name: string) => absPath(join(scratch.root, 'tmp', name));

test('the next command gets an untouched folder under another name (P2)', () => {
  expect(pool.put(scratch, traceOf())).toBe(true);
  const next = pool.take();
  expect(next?.root).not.toBe(scratch.root);
  expect(existsSync(scratch.root)).toBe(false);
  expect(next && readdirSync(next.root).sort()).toEqual(['home', 'tmp']);
  expect(pool.take()).toBeUndefined();
  expect(next && pool.put(next, traceOf())).toBe(true);
});

test('a file that changed before the next command is not newer than its folder', () => {
  const changed = join(scratch.root, '..', `changed-${process.pid}`);
  pool.put(scratch, traceOf());
  writeFileSync(changed, '');
  const { ctimeMs } = lstatSync(changed);
  rmSync(changed);
  const next = pool.take();
  expect(next?.madeAtMs).toBeGreaterThanOrEqual(ctimeMs);
  if (next) pool.put(next, traceOf());
});

test('close removes every folder', () => {
  pool.put(scratch, traceOf());
  pool.close();
  expect(existsSync(scratch.root)).toBe(false);
  expect(pool.take()).toBeUndefined();
});

describe('a folder is not used again (P1)', () => {
  test.each<[string, () => TraceReport]>([
    ['after a write', () => traceOf([{ kind: 'write', path: inTmp('a'), created: true, ...occurrence }])],
    [
      'after a write of its mode',
      () => traceOf([{ kind: 'write', path: absPath(scratch.root), attributes: true, ...occurrence }]),
    ],
    ['after a removal', () => traceOf([{ kind: 'delete', path: inTmp('a'), ...occurrence }])],
    [
      'after a rename into it',
      () => traceOf([{ kind: 'rename', path: absPath('/x'), to: inTmp('a'), ...occurrence }]),
    ],
    [
      'after a rename out of it',
      () => traceOf([{ kind: 'rename', path: inTmp('a'), to: absPath('/x'), ...occurrence }]),
    ],
    [
      'after a hard link',
      () => traceOf([{ kind: 'hardlink', path: absPath('/x'), to: inTmp('a'), ...occurrence }]),
    ],
    [
      'after a symbolic link',
      () => traceOf([{ kind: 'symlink', path: inTmp('a'), target: '/x', ...occurrence }]),
    ],
    [
      'after a socket',
      () => traceOf([{ kind: 'bind', address: { family: 'unix', path: inTmp('a') }, ...occurrence }]),
    ],
    ['after an incomplete trace', () => traceOf([], { complete: false, gaps: ['something'] })],
    [
      'after a process that outlived its command',
      () => traceOf([], { processes: [{ pid: 1, parent: undefined, argv: ['x'], atMs: 0, survived: true }] }),
    ],
  ])('%s', (_, report) => {
    expect(pool.put(scratch, report())).toBe(false);
    expect(pool.take()).toBeUndefined();
  });

  test('but after reading it', () => {
    const read = (['read', 'probe', 'absent', 'list', 'entered'] as const).map((kind) => ({
      kind,
      path: inTmp('a'),
      ...occurrence,
    }));
    expect(pool.put(scratch, traceOf(read))).toBe(true);
  });
});

describe('a folder that somebody changed is removed (P3)', () => {
  test.each<[string, (root: string) => void]>([
    ['a new file', (root) => writeFileSync(join(root, 'home', 'a'), '')],
    [
      'a new file that is gone again',
      (root) => {
        writeFileSync(join(root, 'tmp', 'a'), '');
        rmSync(join(root, 'tmp', 'a'));
      },
    ],
    ['another mode', (root) => chmodSync(join(root, 'tmp'), 0o500)],
    [
      'another folder in its place',
      (root) => {
        rmSync(join(root, 'home'), { recursive: true });
        mkdirSync(join(root, 'home'));
      },
    ],
    ['a folder that is gone', (root) => rmSync(join(root, 'home'), { recursive: true })],
    ['all of it is gone', (root) => rmSync(root, { recursive: true })],
  ])('%s', async (_, change) => {
    pool.put(scratch, traceOf());
    await laterThan(join(scratch.root, 'tmp'));
    const around = join(scratch.root, '..');
    change(scratch.root);
    expect(pool.take()).toBeUndefined();
    expect(readdirSync(around).filter((name) => name.includes(ownerOf(scratch.root)))).toEqual([]);
  });
});

/** The part of the name that stands for this process. */
function ownerOf(root: string): string {
  return /assay-run-(\d+-\d+-\d+)/.exec(root)?.[1] ?? root;
}

/** Resolves when the clock of the file system has gone on: a change from now on shows in the ctime. */
async function laterThan(path: string): Promise<void> {
  const { ctimeMs } = lstatSync(path);
  const probe = join(path, '..', 'probe');
  do {
    await new Promise((resolve) => setTimeout(resolve, 1));
    writeFileSync(probe, '');
  } while (lstatSync(probe).ctimeMs <= ctimeMs);
  rmSync(probe);
}

describe.each(RUNTIME_FORMS)('in a graph run, %s', (form) => {
  test('every command finds an empty HOME and TMPDIR of its own, and nothing is left', async () => {
    const shop = new Workshop();
    try {
      const tmp = shop.another('tmp');
      const names = ['first', 'writes', 'after', 'last'];
      const steps = names.map((name, at) => {
        const look = `echo $HOME > ${name} && ls -A $HOME $TMPDIR >> ${name}`;
        const command = name === 'writes' ? `${look} && touch $HOME/.left $TMPDIR/left` : look;
        return [name, { command, inputs: [], outputs: [name], dependsOn: names.slice(0, at).slice(-1) }];
      });
      shop.write('assay.json', JSON.stringify({ steps: Object.fromEntries(steps) }));
      const { summary } = await runSteps(shop, ['last'], { form, env: { TMPDIR: tmp } });
      expect(summary).toMatchObject({ misses: 4, failed: 0 });
      const homes = names.map((name) => {
        const [home = '', ...listed] = readFileSync(join(shop.workspace, name), 'utf8').split('\n');
        expect(listed.filter((line) => line !== '' && !line.endsWith(':'))).toEqual([]);
        return home;
      });
      expect(new Set(homes).size).toBe(homes.length);
      expect(homes.every((home) => home.startsWith(tmp))).toBe(true);
      expect(readdirSync(tmp).filter((name) => name.startsWith('assay-'))).toEqual([]);
    } finally {
      shop.remove();
    }
  });
});
