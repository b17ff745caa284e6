// The declarations that an audit suggests: patterns that a person would write, and reasons for what is left
// out.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { suggest } from '../../../client/audit/suggest.ts';
import { WorkspaceFiles } from '../../../client/audit/workspace-files.ts';
import { parseRelPath, type RelPath, ROOT } from '../../../core/path.ts';
import {
  type Finding,
  type FindingKind,
  type Fix,
  fixText,
  patternOf,
} from '../../../hermeticity/verdict/finding.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

const FLAGS: Partial<Record<FindingKind, Fix['flag']>> = {
  read: '--input',
  probe: '--input',
  list: '--input',
  absent: '--optional-input',
  write: '--output',
};

function finding(kind: FindingKind, path: string): Finding {
  const flag = FLAGS[kind] ?? '--input';
  const listed = path === '.' ? '*' : `${patternOf(path)}/*`;
  const value = kind === 'list' ? listed : kind === 'write' ? path : patternOf(path);
  return { kind, path, atMs: 0, fix: { flag, value } };
}

/** Reads all of these files, which exist. */
function reads(...paths: readonly string[]): Finding[] {
  for (const path of paths) shop.write(path, 'x');
  return paths.map((path) => finding('read', path));
}

interface Options {
  readonly outputs?: readonly string[];
  readonly home?: RelPath;
}

function suggestions(findings: readonly Finding[], { outputs = [], home = ROOT }: Options = {}) {
  const request = { workspace: shop.workspace, outputs: outputs.map(parseRelPath), includeIgnored: false };
  const { declare, leave } = suggest(findings, new WorkspaceFiles(request), home);
  const all = [...declare, ...leave].flatMap((one) => one.findings);
  expect(new Set(all).size, 'each finding is in one place').toBe(all.length);
  expect(all).toHaveLength(findings.length);
  return {
    flags: declare.flatMap(({ fixes }) => fixes.map(fixText)).sort(),
    left: leave.map(({ why, findings: some }) => `${some.map(({ path }) => path).join(' ')}: ${why}`),
  };
}

function numbered<T>(count: number, item: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => item(at));
}

describe('files that were read become', () => {
  test('one pattern for a folder, if at least half of it was read', () => {
    const found = reads(...numbered(17, (at) => `src/deep${at % 3}/f${at}.ts`));
    shop.write('src/README.md', 'x');
    expect(suggestions(found)).toEqual({ flags: ["--input 'src/**'"], left: [] });
  });

  test('a pattern with an ending, if the folder holds many other files', () => {
    const found = reads(...numbered(6, (at) => `src/f${at}.py`));
    for (const at of Array(20).keys()) shop.write(`src/data/d${at}.csv`, 'x');
    expect(suggestions(found).flags).toEqual(["--input 'src/**/*.py'"]);
  });

  test('names, if they are few, or lie in the package’s own folder', () => {
    expect(suggestions(reads('src/a.ts', 'src/b.ts', 'package.json', 'tsconfig.json')).flags).toEqual([
      '--input package.json',
      '--input src/a.ts',
      '--input src/b.ts',
      '--input tsconfig.json',
    ]);
    const home = parseRelPath('lib');
    expect(suggestions(reads('lib/a', 'lib/b', 'lib/c'), { home }).flags).toEqual([
      '--input lib/a',
      '--input lib/b',
      '--input lib/c',
    ]);
  });

  test('endings, if many lie in the workspace’s own folder', () => {
    const found = reads(...numbered(8, (at) => `f${at}.c`), 'Makefile');
    expect(suggestions(found).flags).toEqual(["--input '*.c'", '--input Makefile']);
  });

  test('a pattern of the part that was read, not of a large folder around it', () => {
    const found = reads(...numbered(4, (at) => `packages/a/src/f${at}.ts`));
    for (const at of Array(30).keys()) shop.write(`packages/b/src/f${at}.ts`, 'x');
    expect(suggestions(found).flags).toEqual(["--input 'packages/a/**'"]);
  });

  test('a pattern with escaped names', () => {
    const found = reads(...numbered(4, (at) => `pages/[id]/f${at}.tsx`));
    expect(suggestions(found).flags).toEqual(["--input 'pages/**'"]);
    expect(suggestions(reads('[x]/a', '[x]/b', '[x]/c')).flags).toEqual(["--input '\\[x\\]/**'"]);
  });
});

describe('a pattern never takes', () => {
  test('what the command writes', () => {
    const found = [...reads(...numbered(4, (at) => `src/f${at}.ts`)), finding('write', 'src/version.txt')];
    shop.write('src/version.txt', '1');
    expect(suggestions(found).flags).toEqual(["--input 'src/**/*.ts'", '--output src/version.txt']);
  });

  test('the cache of a tool', () => {
    const found = reads(...numbered(4, (at) => `src/f${at}.py`));
    const compiled = reads(...numbered(4, (at) => `src/__pycache__/f${at}.cpython-312.pyc`));
    const { flags, left } = suggestions([...found, ...compiled]);
    expect(flags).toEqual(["--input 'src/**/*.py'"]);
    expect(left).toEqual([expect.stringMatching(/pyc: a cache of Python: .*PYTHONDONTWRITEBYTECODE/)]);
  });
});

describe('not declared, with a reason, is', () => {
  test.each([
    ['__pycache__/a.pyc', 'Python'],
    ['.pytest_cache', 'pytest'],
    ['.mypy_cache/3.12/a.json', 'mypy'],
    ['.eslintcache', 'eslint'],
    ['tsconfig.tsbuildinfo', 'tsc'],
    ['node_modules/.cache/babel/x.json', 'a Node tool'],
    ['node_modules/.vite/vitest/results.json', 'a Node tool'],
  ])('the cache %s', (path, tool) => {
    for (const kind of ['read', 'write', 'absent'] as const) {
      const { flags, left } = suggestions([finding(kind, path)]);
      expect(flags).toEqual([]);
      expect(left).toEqual([expect.stringContaining(`a cache of ${tool}`)]);
    }
  });

  test.each(['tmp.aB3dE9xYz1', 'out/x.tmp', 'tmpab12_xyz', 'a.c~', 'run.pid', '.#lock'])(
    'the temporary file %s',
    (path) => {
      expect(suggestions([finding('write', path)])).toEqual({
        flags: [],
        left: [expect.stringContaining('a temporary file')],
      });
    },
  );

  test('a path that is read and written', () => {
    const { flags, left } = suggestions([...reads('count'), finding('write', 'count')]);
    expect(flags).toEqual([]);
    expect(left).toEqual(['count count: the command both reads and writes it']);
  });

  test('a folder that git ignores, but not a few ignored files', () => {
    shop.write('.gitignore', 'generated\n.env\n');
    const found = reads(...numbered(6, (at) => `generated/f${at}.ts`), '.env');
    const { flags, left } = suggestions([...found, finding('list', 'generated')]);
    expect(flags).toEqual(['--input .env']);
    expect(left).toEqual([expect.stringContaining('git ignores generated')]);
  });

  test('an installed package', () => {
    expect(suggestions(reads('node_modules/lib/index.js'))).toEqual({
      flags: [],
      left: [expect.stringContaining('installed packages')],
    });
  });

  test('the listing of the whole workspace', () => {
    shop.write('a', 'x');
    expect(suggestions([finding('list', '.')])).toEqual({
      flags: [],
      left: [expect.stringContaining('every file')],
    });
  });

  test('more files beside the sources than a person would name as outputs', () => {
    shop.write('src/main.c', 'x');
    const found = numbered(9, (at) => finding('write', `src/f${at}.o`));
    const { flags, left } = suggestions(found);
    expect(flags).toEqual([]);
    expect(left).toEqual([expect.stringContaining('a folder of their own')]);
  });

  test('a link out of the workspace', () => {
    shop.link('lib', '../lib');
    expect(suggestions([finding('read', 'lib')]).left).toEqual([
      expect.stringContaining('out of the workspace'),
    ]);
  });
});

describe('a listing', () => {
  test('is part of the pattern of its folder', () => {
    expect(suggestions([...reads('src/a.ts'), finding('list', 'src')]).flags).toEqual(["--input 'src/**'"]);
  });

  test('without a read has a pattern for its names', () => {
    shop.write('src/a.ts', 'x');
    expect(suggestions([finding('list', 'src')]).flags).toEqual(["--input 'src/*'"]);
  });
});

describe('a missing file', () => {
  test('is part of the pattern of its folder', () => {
    const found = reads('src/a.ts', 'src/b.ts', 'src/c.ts');
    expect(suggestions([...found, finding('absent', 'src/d.ts')]).flags).toEqual(["--input 'src/**'"]);
  });

  test('is optional by its name, and a missing folder by one pattern', () => {
    const names = ['maybe', 'conf/a', 'conf/b/c'].map((path) => finding('absent', path));
    expect(suggestions(names).flags).toEqual(["--optional-input 'conf/**'", '--optional-input maybe']);
  });

  test('is not declared among many others', () => {
    const names = numbered(9, (at) => finding('absent', `name${at}`));
    expect(suggestions(names)).toEqual({
      flags: [],
      left: [expect.stringContaining('names that do not exist')],
    });
  });
});

describe('files that were written become', () => {
  const writes = (...paths: readonly string[]) => {
    for (const path of paths) shop.write(path, 'x');
    return paths.map((path) => finding('write', path));
  };

  test('one output for a folder, if the command wrote all of it', () => {
    shop.write('.gitignore', 'gen\n');
    const found = writes(...numbered(9, (at) => `gen/part${at % 2}/f${at}`));
    expect(suggestions(found)).toEqual({ flags: ['--output gen'], left: [] });
  });

  test('an output each, if the folder holds anything else, hidden or not', () => {
    shop.write('.gitignore', '*.txt\n');
    shop.write('gen/mine.txt', 'x');
    expect(suggestions(writes('gen/a', 'gen/b')).flags).toEqual(['--output gen/a', '--output gen/b']);
    const home = parseRelPath('lib/app');
    expect(suggestions(writes('lib/app/a', 'lib/app/b'), { home }).flags).toEqual([
      '--output lib/app/a',
      '--output lib/app/b',
    ]);
  });
});

test('an output of another step becomes one dependency', () => {
  const fix = { flag: 'dependsOn', value: 'build' } as const;
  const found = ['out/a', 'out/b'].map((path): Finding => ({ kind: 'read', path, atMs: 0, fix }));
  expect(suggestions(found).flags).toEqual(['"dependsOn": ["build"]']);
});
