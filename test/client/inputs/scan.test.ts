// Which files a declaration includes.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { REQUEST_DEFAULTS, type RunRequest } from '../../../client/action/request.ts';
import { digestFile } from '../../../client/files/file-digest.ts';
import { StatRecorder } from '../../../client/files/stat-recorder.ts';
import { scanInputs } from '../../../client/inputs/scan.ts';
import { ROOT, relPathFromUser } from '../../../core/path.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

interface Declared {
  optional?: string[];
  outputs?: string[];
  includeIgnored?: boolean;
}

function request(patterns: readonly string[], declared: Declared = {}): RunRequest {
  const { optional = [], outputs = [], includeIgnored = false } = declared;
  return {
    ...REQUEST_DEFAULTS,
    workspace: shop.workspace,
    workingDirectory: ROOT,
    command: ['true'],
    inputs: [
      ...patterns.map((pattern) => ({ pattern, optional: false })),
      ...optional.map((pattern) => ({ pattern, optional: true })),
    ],
    includeIgnored,
    outputs: outputs.map(relPathFromUser),
    variables: [],
    tools: [],
  };
}

const digests = {
  digest: (_name: string, _stats: unknown, locate: () => string | Buffer) => digestFile(locate()).digest,
};

function scan(patterns: readonly string[], declared: Declared = {}): string[] {
  const { entries } = scanInputs(request(patterns, declared), new StatRecorder(shop.workspace), digests);
  return entries.map(({ kind, path }) => (kind === 'directory' ? `${path}/` : path)).sort();
}

function write(...paths: string[]): void {
  for (const path of paths) shop.write(path, path);
}

describe('patterns', () => {
  beforeEach(() => write('src/a.ts', 'src/b.js', 'src/deep/c.ts', 'src/.hidden', 'top.ts', 'other/d.ts'));

  test.each([
    ['all files below a folder', ['src/**'], ['src/.hidden', 'src/a.ts', 'src/b.js', 'src/deep/c.ts']],
    ['a folder by its name', ['src'], ['src/.hidden', 'src/a.ts', 'src/b.js', 'src/deep/c.ts']],
    ['with a slash at the end', ['src/'], ['src/.hidden', 'src/a.ts', 'src/b.js', 'src/deep/c.ts']],
    ['one file', ['src/a.ts'], ['src/a.ts']],
    ['one star stays in its folder', ['src/*.ts'], ['src/a.ts']],
    ['two stars go down', ['src/**/*.ts'], ['src/a.ts', 'src/deep/c.ts']],
    ['braces', ['{src,other}/*.ts'], ['other/d.ts', 'src/a.ts']],
    ['a leading ./', ['./src/*.ts'], ['src/a.ts']],
    ['everything', ['**'], ['other/d.ts', 'src/.hidden', 'src/a.ts', 'src/b.js', 'src/deep/c.ts', 'top.ts']],
    [
      'every file, as a dot',
      ['.'],
      ['other/d.ts', 'src/.hidden', 'src/a.ts', 'src/b.js', 'src/deep/c.ts', 'top.ts'],
    ],
    ['negation', ['src/**', '!src/deep/**', '!**/*.js'], ['src/.hidden', 'src/a.ts']],
    ['a negation may come first', ['!src/deep', 'src/**/*.ts'], ['src/a.ts']],
    [
      'overlapping patterns count a file once',
      ['src/**', 'src/a.ts', 'src/*.ts'],
      ['src/.hidden', 'src/a.ts', 'src/b.js', 'src/deep/c.ts'],
    ],
  ])('%s', (_name, patterns, expected) => {
    expect(scan(patterns)).toEqual(expected);
  });

  test.each([
    ['a missing file', ['src/nosuch']],
    ['a glob that matches nothing', ['src/**', 'src/*.rs']],
    ['a missing folder', ['nosuch/**']],
  ])('%s is refused', (_name, patterns) => {
    expect(() => scan(patterns)).toThrow(/ASSAY_INPUT_MATCHES_NOTHING/);
  });

  test('a pattern that would pass through a link matches nothing, and the error names the link', () => {
    shop.link('linked', 'src');
    expect(() => scan(['linked/**'])).toThrow(
      'linked is a symbolic link to src, and no pattern goes through',
    );
  });

  test('an optional pattern may match nothing', () => {
    expect(scan(['src/a.ts'], { optional: ['gen/**', 'nosuch'] })).toEqual(['src/a.ts']);
  });

  test.each(['/etc/passwd', '../up', 'src/../../up', '/**', '../**'])('%s is refused', (pattern) => {
    expect(() => scan([pattern])).toThrow(/ASSAY_BAD_PATH/);
  });

  test('an existing name is taken literally, including brackets', () => {
    write('pages/[id].ts', 'pages/i.ts');
    expect(scan(['pages/[id].ts'])).toEqual(['pages/[id].ts']);
    expect(scan(['pages/\\[id\\].ts'])).toEqual(['pages/[id].ts']);
    expect(scan(['\\pages/\\[*'])).toEqual(['pages/[id].ts']);
  });

  test('own outputs, .git and .assay are never inputs', () => {
    write('.git/config', '.assay/1-0/x', 'dist/out.js', 'src/dist/kept.js');
    expect(scan(['**'], { outputs: ['dist'] })).not.toContain('dist/out.js');
    expect(scan(['**'], { outputs: ['dist'] })).toContain('src/dist/kept.js');
    expect(scan(['**']).filter((path) => path.startsWith('.git') || path.startsWith('.assay'))).toEqual([]);
  });
});

describe('file types', () => {
  test('an empty folder is an input, a folder with files is not one by itself', () => {
    mkdirSync(join(shop.workspace, 'src/empty/inner'), { recursive: true });
    write('src/full/a');
    expect(scan(['src/**'])).toEqual(['src/empty/inner/', 'src/full/a']);
  });

  test('links are kept as links and never followed', () => {
    write('real/a');
    shop.link('src/folder', '../real');
    shop.link('src/file', '../real/a');
    shop.link('src/dangling', 'nowhere');
    expect(scan(['src/**'])).toEqual(['src/dangling', 'src/file', 'src/folder']);
  });

  test('a path behind a link is refused', () => {
    write('real/a');
    shop.link('door', 'real');
    expect(() => scan(['door/a'])).toThrow(/behind the symbolic link door/);
  });

  test('a link to something that is not in the key is reported', () => {
    write('real/a', 'src/x');
    shop.link('src/undeclared', '../real/a');
    shop.link('src/dangling', 'nowhere');
    shop.link('src/out', '../../elsewhere');
    shop.link('src/absolute', '/etc/hosts');
    shop.link('src/inside', '../src/x');
    const { strayLinks } = scanInputs(request(['src/**']), new StatRecorder(shop.workspace), digests);
    expect([...strayLinks].sort()).toEqual(['src/absolute', 'src/out', 'src/undeclared']);
  });

  test('a pipe or a socket is no input, as git lists none; one that is named is refused, not read', async () => {
    write('src/a');
    execFileSync('mkfifo', [join(shop.workspace, 'src/pipe')]);
    const server = createServer().listen(join(shop.workspace, 'src/socket'));
    await once(server, 'listening');
    expect(scan(['**'])).toEqual(['src/a']);
    expect(scan(['src/**'])).toEqual(['src/a']);
    expect(scan(['src'])).toEqual(['src/a']);
    for (const name of ['src/pipe', 'src/socket'])
      expect(() => scan(['src/**', name])).toThrow(`ASSAY_INPUT_UNREADABLE: ${name}`);
    server.close();
  });

  test('every byte that Linux allows in a name is accepted', () => {
    const names = [
      Buffer.from('caf\xe9', 'latin1'),
      Buffer.from('new\nline'),
      Buffer.from('%bytes:41'),
      Buffer.from([1, 255]),
    ];
    mkdirSync(join(shop.workspace, 'src'));
    for (const name of names)
      writeFileSync(Buffer.concat([Buffer.from(`${shop.workspace}/src/`), name]), name);
    const found = scan(['src/**']);
    expect(found).toHaveLength(names.length);
    expect(new Set(found).size).toBe(names.length);
    expect(found).toContain('src/new\nline');
    expect(found).toContain(`src/%bytes:${Buffer.from('caf\xe9', 'latin1').toString('hex')}`);
    expect(found).toContain(`src/%bytes:${Buffer.from('%bytes:41').toString('hex')}`);
  });
});

describe('.gitignore', () => {
  beforeEach(() => {
    shop.write('.gitignore', 'build/\n*.log\n!keep.log\n');
    write('a.ts', 'x.log', 'keep.log', 'build/o', 'src/build/p', 'src/y.log', 'src/b.ts');
  });

  test('hides what git would hide', () => {
    expect(scan(['**'])).toEqual(['.gitignore', 'a.ts', 'keep.log', 'src/b.ts']);
  });

  test('in a deeper folder overrides one above', () => {
    shop.write('src/.gitignore', '!y.log\nb.ts\n');
    expect(scan(['src/**'])).toEqual(['src/.gitignore', 'src/y.log']);
  });

  test('applies even if the pattern starts below it', () => {
    expect(scan(['src/**'])).toEqual(['src/b.ts']);
  });

  test('does not hide a path that is named', () => {
    expect(scan(['x.log', 'build'])).toEqual(['build/o', 'x.log']);
  });

  test('does not hide any file of a hidden folder that is named', () => {
    shop.write('build/pkg/.gitignore', 'lib/\n');
    write('build/pkg/lib/index.js');
    expect(scan(['build'])).toContain('build/pkg/lib/index.js');
  });

  test('is mentioned if a glob finds only hidden files', () => {
    expect(() => scan(['build/**'])).toThrow(/--include-ignored/);
    expect(scan(['build/**'], { includeIgnored: true })).toEqual(['build/o']);
  });

  test('applies from above the workspace, up to the repository’s root', () => {
    mkdirSync(join(shop.folder, '.git'));
    writeFileSync(join(shop.folder, '.gitignore'), 'workspace/src/\n');
    expect(scan(['**'])).toEqual(['.gitignore', 'a.ts', 'keep.log']);
  });

  test('agrees with git itself', () => {
    shop.write(
      '.gitignore',
      ['*.o', '/only-top', 'deep/**/skip', '!deep/keep/skip', 'a?c', '[xy]z', ''].join('\n'),
    );
    write(
      'm.o',
      'd/m.o',
      'only-top',
      'd/only-top',
      'deep/1/2/skip',
      'deep/keep/skip',
      'abc',
      'abbc',
      'xz',
      'yz',
      'zz',
    );
    const env = { PATH: process.env.PATH ?? '', HOME: shop.folder, GIT_CONFIG_NOSYSTEM: '1' };
    execFileSync('git', ['init', '-q'], { cwd: shop.workspace, env });
    const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
      cwd: shop.workspace,
      env,
      encoding: 'utf8',
    });
    expect(scan(['**'])).toEqual(listed.trim().split('\n').sort());
  });
});
