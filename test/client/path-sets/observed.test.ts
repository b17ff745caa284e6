// `assay run --inputs=observed`: nothing is declared; a hit needs everything that the run read to be
// unchanged, and nothing else. On liblmdb with its own Makefile, and on a TypeScript project.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { REQUEST_DEFAULTS, type RunRequest } from '../../../client/action/request.ts';
import { slots } from '../../../client/path-sets/path-sets.ts';
import { States } from '../../../client/path-sets/states.ts';
import { localPathSets } from '../../../client/path-sets/storage.ts';
import { openCache } from '../../../client/run/caches.ts';
import { keyAction } from '../../../client/run/key.ts';
import { lookup } from '../../../client/run/lookup.ts';
import { parseRelPath, ROOT } from '../../../core/path.ts';
import type { ObservedPath } from '../../../core/path-set.ts';
import { type RanWithSummary, Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

const MODULES = join(import.meta.dirname, '../../../node_modules');

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

function run(
  outputs: readonly string[],
  command: readonly string[],
  ...flags: string[]
): Promise<RanWithSummary> {
  const declared = outputs.flatMap((output) => ['--output', output]);
  return shop.run(['--inputs=observed', ...flags, ...declared, '--', ...command], {
    env: { PATH: `${join(MODULES, '.bin')}:${process.env.PATH}` },
  });
}

/** The same request in this process: hundreds of lookups without starting hundreds of processes. */
class Asker {
  readonly #request: RunRequest;

  constructor(outputs: readonly string[], command: readonly [string, ...string[]]) {
    this.#request = {
      workspace: shop.workspace,
      workingDirectory: ROOT,
      command,
      inputs: [],
      outputs: outputs.map(parseRelPath),
      variables: [],
      tools: [],
      ...REQUEST_DEFAULTS,
      observed: true,
    };
  }

  async isHit(): Promise<boolean> {
    return this.#with(async (action, context) => (await lookup(action, context)) !== undefined);
  }

  /** The paths in the run's path set. */
  seen(): Promise<ObservedPath[]> {
    return this.#with(async (action, { cache }) => {
      const store = await cache.openStore();
      if (!store) throw new Error('no store');
      const states = new States(action, cache.digests);
      const found: ObservedPath[] = [];
      for await (const { set } of slots(action.key.hash, localPathSets(store), states.of)) {
        if (!set) break;
        found.push(...set);
      }
      return found;
    });
  }

  async #with<T>(
    work: (action: ReturnType<typeof keyAction>, context: Parameters<typeof lookup>[1]) => Promise<T>,
  ): Promise<T> {
    const report = () => {};
    const nowhere = { write: () => {} };
    const options = { storeFolder: shop.store, workspace: shop.workspace, now: Date.now, report };
    const cache = openCache(options);
    const caller = { PATH: `${join(MODULES, '.bin')}:${process.env.PATH}` };
    const context = { ...options, cache, caller, stdout: nowhere, stderr: nowhere };
    try {
      return await work(keyAction(this.#request, context), context);
    } finally {
      await cache.close();
    }
  }
}

/** Changes a path, looks up, reverts the change, looks up again. */
async function turns(asker: Asker, change: () => () => void): Promise<string> {
  const undo = change();
  const during = await asker.isHit();
  undo();
  return `${during ? 'hit' : 'miss'}, then ${(await asker.isHit()) ? 'hit' : 'miss'}`;
}

function editing(file: string): () => () => void {
  return () => {
    const before = readFileSync(file);
    writeFileSync(file, Buffer.concat([before, Buffer.from('\n')]));
    return () => writeFileSync(file, before);
  };
}

function removing(file: string): () => () => void {
  return () => {
    const before = readFileSync(file);
    rmSync(file);
    return () => writeFileSync(file, before);
  };
}

function adding(file: string): () => () => void {
  return () => {
    writeFileSync(file, '');
    return () => rmSync(file);
  };
}

/** For every observed path in the workspace: a change is a miss, and reverting it is a hit. */
async function expectAllToMatter(asker: Asker): Promise<ObservedPath[]> {
  const seen = (await asker.seen()).filter(
    ({ root, path }) => root === 'workspace' && !path.startsWith('..'),
  );
  for (const { path, state, names, lens } of seen) {
    const file = join(shop.workspace, path);
    const changes = names
      ? [adding(join(file, lens === '' ? 'assay-new' : 'assay-new.ts'))]
      : state === 'absent'
        ? [adding(file)]
        : state === 'folder'
          ? []
          : [editing(file), removing(file)];
    for (const change of changes) {
      expect(`${path}: ${await turns(asker, change)}`).toBe(`${path}: miss, then hit`);
    }
  }
  return seen;
}

describe('liblmdb, by its own Makefile', () => {
  const OUTPUTS = ['mdb_stat', 'liblmdb.a', 'mdb.o', 'midl.o', 'mdb_stat.o', 'module.o'];
  const MAKE = ['make', '-j2', 'OPT=-O0', 'CPPFLAGS=-Ioverride', 'mdb_stat'] as const;

  beforeEach(() => {
    cpSync(join(MODULES, 'lmdb/dependencies/lmdb/libraries/liblmdb'), shop.workspace, { recursive: true });
    mkdirSync(join(shop.workspace, 'override'));
    mkdirSync(join(shop.workspace, 'doc'));
  });

  test('only the paths that it read matter', async () => {
    expect((await run(OUTPUTS, MAKE)).summary).toMatchObject({ outcome: 'miss', published: true });
    expect((await run(OUTPUTS, MAKE)).summary.outcome).toBe('hit-local');
    const asker = new Asker(OUTPUTS, MAKE);
    const seen = await expectAllToMatter(asker);
    const paths = seen.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['Makefile', 'mdb.c', 'midl.h', 'override/stdio.h']));
    const others = readdirSync(shop.workspace, { withFileTypes: true })
      .filter((entry) => entry.isFile() && !paths.includes(entry.name) && !OUTPUTS.includes(entry.name))
      .map(({ name }) => name);
    expect(others).toContain('mtest.c');
    for (const name of others) {
      expect(`${name}: ${await turns(asker, editing(join(shop.workspace, name)))}`).toBe(
        `${name}: hit, then hit`,
      );
    }
    expect(await turns(asker, adding(join(shop.workspace, 'doc', 'new.txt')))).toBe('hit, then hit');
  });

  test('a new header earlier in the search path is used, and removing it is a hit', async () => {
    const size = async () => {
      const { summary } = await run(OUTPUTS, MAKE);
      return { outcome: summary.outcome, bytes: readFileSync(join(shop.workspace, 'midl.o')).length };
    };
    const first = await size();
    const header = join(shop.workspace, 'override', 'stdlib.h');
    writeFileSync(
      header,
      '#include_next <stdlib.h>\nstatic const char shadow[5000] __attribute__((used));\n',
    );
    const shadowed = await size();
    expect([first.outcome, shadowed.outcome]).toEqual(['miss', 'miss']);
    expect(shadowed.bytes).toBeGreaterThan(first.bytes);
    rmSync(header);
    expect(await size()).toEqual({ outcome: 'hit-local', bytes: first.bytes });
  });
});

test('a TypeScript project: only the paths that tsc read matter', async () => {
  shop.write(
    'tsconfig.json',
    '{"compilerOptions":{"outDir":"dist","rootDir":"src","types":[]},"include":["src"]}',
  );
  shop.write(
    'src/main.ts',
    "import { half } from './half';\nimport { thing } from 'thing';\nconsole.log(half(4), thing);\n",
  );
  shop.write('src/half.ts', 'export const half = (x: number): number => x / 2;\n');
  shop.write('node_modules/thing/package.json', '{"name":"thing","types":"index.d.ts"}');
  shop.write('node_modules/thing/index.d.ts', 'export declare const thing: string;\n');
  shop.write('node_modules/other/index.d.ts', 'export declare const other: string;\n');
  shop.write('doc/notes.md', 'notes');
  const command = ['tsc', '-p', '.'] as const;
  expect((await run(['dist'], command)).summary).toMatchObject({ outcome: 'miss', published: true });
  const asker = new Asker(['dist'], command);
  const seen = (await expectAllToMatter(asker)).map(({ path }) => path);
  expect(seen).toEqual(
    expect.arrayContaining([
      'tsconfig.json',
      'src',
      'src/main.ts',
      'src/half.ts',
      'node_modules/thing/index.d.ts',
    ]),
  );
  for (const path of ['doc/notes.md', 'node_modules/other/index.d.ts']) {
    expect(`${path}: ${await turns(asker, editing(join(shop.workspace, path)))}`).toBe(
      `${path}: hit, then hit`,
    );
  }
  expect(await turns(asker, adding(join(shop.workspace, 'doc', 'more.md')))).toBe('hit, then hit');
});

describe('small actions', () => {
  const sh = (script: string, ...flags: string[]) => run(['out'], ['sh', '-c', script], ...flags);

  test('the path set may depend on the content of a file', async () => {
    shop.write('list', 'a');
    shop.write('a', '1');
    shop.write('b', '2');
    const script = 'cat $(cat list) > out';
    const outcomes: string[] = [];
    const note = async () => outcomes.push((await sh(script)).summary.outcome);
    await note();
    shop.write('list', 'b');
    await note();
    shop.write('a', 'no longer read');
    await note();
    shop.write('b', '3');
    await note();
    shop.write('list', 'a');
    shop.write('a', '1');
    await note();
    expect(outcomes).toEqual(['miss', 'miss', 'hit-local', 'miss', 'hit-local']);
    expect(readFileSync(join(shop.workspace, 'out'), 'utf8')).toBe('1');
  });

  test('many path sets of one key are found again', async () => {
    const script = 'cat $(cat list) > out';
    for (let n = 0; n < 11; n++) {
      shop.write(`file${n}`, `content ${n}`);
      shop.write('list', `file${n}`);
      expect((await sh(script)).summary.outcome).toBe('miss');
    }
    for (let n = 0; n < 11; n += 5) {
      shop.write('list', `file${n}`);
      expect((await sh(script)).summary.outcome).toBe('hit-local');
      expect(readFileSync(join(shop.workspace, 'out'), 'utf8')).toBe(`content ${n}`);
    }
  });

  test('a file counts by its content even if only stat was called, a listed folder by its names', async () => {
    shop.write('flag', 'x');
    shop.write('folder/one', '1');
    const script = 'test -s flag && ls folder > out';
    expect((await sh(script)).summary.outcome).toBe('miss');
    shop.write('folder/one', 'another content');
    expect((await sh(script)).summary.outcome).toBe('hit-local');
    shop.write('folder/two', '2');
    expect((await sh(script)).summary.outcome).toBe('miss');
    shop.write('flag', '');
    expect((await sh(script)).summary.outcome).toBe('miss');
  });

  test('an action that leaves other files is not published', async () => {
    const ran = await sh('echo x > state; echo y > out');
    expect(ran.summary).toMatchObject({ published: false });
    expect(ran.summary.notPublished).toContain('it changes what it may read the next time: state');
  });

  test('a result with an incomplete trace is not published', async () => {
    const ran = await sh('unshare -rm cat /etc/hostname > out || true');
    expect(ran.summary).toMatchObject({ published: false });
    expect(ran.summary.notPublished).toContain('not all that it read is known');
  });

  test('the command is watched even with --hermetic=off', async () => {
    shop.write('in', '1');
    expect((await sh('cat in > out', '--hermetic=off')).summary).toMatchObject({ published: true });
    expect((await sh('cat in > out', '--hermetic=off')).summary.outcome).toBe('hit-local');
    shop.write('in', '2');
    expect((await sh('cat in > out', '--hermetic=off')).summary.outcome).toBe('miss');
  });

  test('through a remote: another checkout with the same files has a hit', async () => {
    const server = await ServerProcess.start(join(shop.folder, 'served'));
    try {
      const script = 'cat config include/* > out; test -f ../above';
      const build = (workspace: string) =>
        shop.run(
          [
            ...['--inputs=observed', '--remote', server.url, '--store', `${workspace}-store`],
            ...['--output', 'out', '--', 'sh', '-c', `${script}; true`],
          ],
          { cwd: workspace },
        );
      const checkouts = ['one', 'two', 'three'].map((name) => shop.another(name));
      for (const checkout of checkouts) {
        shop.write('config', 'c', 0o644, checkout);
        shop.write('include/a', 'a', 0o644, checkout);
        shop.write('unrelated', checkout, 0o644, checkout);
      }
      const [one = '', two = '', three = ''] = checkouts;
      expect((await build(one)).summary).toMatchObject({ outcome: 'miss', shared: true });
      expect((await build(two)).summary.outcome).toBe('hit-remote');
      shop.write('include/b', 'b', 0o644, three);
      expect((await build(three)).summary.outcome).toBe('miss');
      shop.write('above', '', 0o644, shop.folder);
      expect((await build(two)).summary.outcome).toBe('miss');
    } finally {
      await server.stop();
    }
  });
});
