// A hit compares what a command was shown by each listing: names and types, also where nothing is told about it.
// Each case of "wrong hits" was a hit of 0.2.0 at 7aac058. Each runs in a used workspace, and as a fresh clone with an
// empty store through a server. Outside of the soak, each runs in one of the two, in turn.
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RanWithSummary, Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';
import { waysOf } from '../../rig/soak.ts';

const MODULES = join(import.meta.dirname, '../../../node_modules');
const PATH = `${join(MODULES, '.bin')}:${process.env.PATH}`;

let server: ServerProcess;
let servers: Workshop;
let shop: Workshop;

beforeAll(async () => {
  servers = new Workshop();
  server = await ServerProcess.start(servers.store);
});

afterAll(async () => {
  await server.stop();
  servers.remove();
});

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

interface Case {
  readonly title: string;
  readonly files: Readonly<Record<string, string>>;
  /** Flags of `assay run` before the command. */
  readonly flags: readonly string[];
  readonly command: readonly string[];
  /** The edit, in a workspace. */
  readonly edit: (workspace: string) => void;
  /** The miss names this. */
  readonly named?: string;
}

const adds =
  (path: string, content = '') =>
  (workspace: string) =>
    void shop.write(path, content, 0o644, workspace);

/** Names that the importer can't act on. */
const LISTS_CONF =
  'import os\nn = os.listdir("conf") if os.path.isdir("conf") else []\nopen("o", "w").write(str([x for x in n if x.endswith(".yaml")]))\n';

/** esbuild as vite, tsup and others start it. */
const BUILD = (options: string) =>
  `const fs = require("fs"); require(${JSON.stringify(join(MODULES, 'esbuild'))}).build({ entryPoints: ["in.js"], bundle: true, outfile: "o.js", logLevel: "silent", ${options} })\n`;
const SERVICE = { 'build.cjs': BUILD('') };

const sh = (script: string) => ['sh', '-c', script];

/** `title` makes the key of each case its own. */
function run(
  { title, flags, command }: Pick<Case, 'title' | 'flags' | 'command'>,
  cwd: string,
  store: string,
  remote = ['--remote', server.url],
): Promise<RanWithSummary> {
  const where = [...remote, '--store', join(shop.folder, store), '--no-report'];
  return shop.run([...where, '--env', `CASE=${title}`, ...flags, '--', ...command], { cwd, env: { PATH } });
}

/** A clone that has the parent folder to itself. */
function clone(name: string): string {
  const folder = join(shop.folder, name, 'workspace');
  mkdirSync(join(shop.folder, name));
  cpSync(shop.workspace, folder, { recursive: true, verbatimSymlinks: true });
  return folder;
}

async function prepare(one: Case): Promise<string> {
  for (const [path, content] of Object.entries({ '.git/HEAD': 'ref: refs/heads/main\n', ...one.files }))
    shop.write(path, content);
  const fresh = clone('fresh');
  expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({
    outcome: 'miss',
    published: true,
  });
  return fresh;
}

const C = { 'src/a.js': '1\n' };
const COPY = ['cp', '-r', 'src', 'dist'];
const TSC = join(MODULES, 'typescript/bin/tsc');
const PYTHON = (script: string) => ({ 'm.py': script });
const TSCONFIG = '{"compilerOptions":{"outDir":"dist","rootDir":"src"},"include":["src"]}';
const FIND = { 'src/a': '', 'src/b': '' };

const WRONG_HITS: readonly Case[] = [
  {
    title: 'cp -r of a folder with a pattern by extension',
    files: C,
    flags: ['--input', 'src/*.js', '--output', 'dist'],
    command: COPY,
    edit: adds('src/data.json'),
    named: 'src/data.json',
  },
  {
    title: 'cp -r, strict',
    files: C,
    flags: ['--hermetic=strict', '--input', 'src/*.js', '--output', 'dist'],
    command: COPY,
    edit: adds('src/data.json'),
  },
  {
    title: 'cp -r of a folder in which an ignored file appears',
    files: { ...C, '.gitignore': '*.log\n' },
    flags: ['--input', 'src/**', '--output', 'dist'],
    command: COPY,
    edit: adds('src/x.log'),
    named: 'src/x.log',
  },
  {
    title: 'cp -r of a folder in which an excluded file appears',
    files: C,
    flags: ['--input', 'src/**', '--input', '!src/*.md', '--output', 'dist'],
    command: COPY,
    edit: adds('src/x.md'),
  },
  {
    title: 'cp -r with default inputs, and an ignored file',
    files: { ...C, '.gitignore': '*.log\ndist\n' },
    flags: ['--output', 'dist'],
    command: COPY,
    edit: adds('src/x.log'),
  },
  {
    title: 'cp -r of a folder in which Python left compiled modules',
    files: C,
    flags: ['--input', 'src/*.js', '--output', 'dist'],
    command: COPY,
    edit: adds('src/__pycache__/x.cpython-311.pyc'),
    named: 'src/__pycache__',
  },
  {
    title: 'cp -r, and an empty folder',
    files: C,
    flags: ['--input', 'src/**', '--output', 'dist'],
    command: COPY,
    edit: (workspace) => void mkdirSync(join(workspace, 'src/empty')),
    named: 'src/empty',
  },
  {
    title: 'tsc and a source with another extension',
    files: { 'src/a.ts': 'export const a = 1;\n', 'tsconfig.json': TSCONFIG },
    flags: ['--input', 'src/**/*.ts', '--input', 'tsconfig.json', '--output', 'dist'],
    command: ['tsc', '-p', '.'],
    edit: adds('src/b.tsx', 'export const b: number = "text";\n'),
  },
  {
    title: 'tsc and a source in a new hidden folder',
    files: {
      'src/a.ts': 'export const a = 1;\n',
      'tsconfig.json': '{"compilerOptions":{"outDir":"dist","rootDir":"."},"include":["src",".hidden/**/*"]}',
    },
    flags: ['--input', 'src/**/*.ts', '--input', 'tsconfig.json', '--output', 'dist'],
    command: ['tsc', '-p', '.'],
    edit: adds('.hidden/b.ts', 'export const b: number = "text";\n'),
  },
  {
    title: 'a script of node that is named tsc',
    files: {
      'bin/tsc': 'require("fs").writeFileSync("o", require("fs").readdirSync("src").join())',
      'src/a.txt': '',
    },
    flags: ['--input', 'bin/tsc', '--optional-input', 'src/*.ts', '--output', 'o'],
    command: ['node', 'bin/tsc'],
    edit: adds('src/b.txt'),
  },
  {
    title: 'node --test and a test with another extension',
    files: { 'test/a.test.js': 'require("node:test").test("a", () => {});\n' },
    flags: ['--input', 'test/*.test.js'],
    command: ['node', '--test', 'test/'],
    edit: adds('test/b.test.mjs', 'throw new Error("fails");\n'),
  },
  {
    title: 'a Python module that shadows one of the standard library',
    files: PYTHON('import json; open("o", "w").write(json.__file__)\n'),
    flags: ['--input', 'm.py', '--output', 'o'],
    command: ['python3', 'm.py'],
    edit: adds('json.py'),
    named: 'json.py',
  },
  {
    title: 'a Python module in a folder that comes first',
    files: {
      ...PYTHON('import one; open("o", "w").write(str(one.X))\n'),
      'b/one.py': 'X = 1\n',
      'a/two.py': '',
    },
    flags: ['--input', 'm.py', '--input', 'b/one.py', '--env', 'PYTHONPATH=a:b', '--output', 'o'],
    command: ['python3', 'm.py'],
    edit: adds('a/one.py', 'X = 2\n'),
  },
  {
    title: 'an optional Python module that is ignored',
    files: {
      ...PYTHON(
        'try:\n import local_settings as s\nexcept ImportError:\n s = 0\nopen("o", "w").write(str(s))\n',
      ),
      '.gitignore': 'local_settings.py\n',
    },
    flags: ['--input', '*.py', '--output', 'o'],
    command: ['python3', 'm.py'],
    edit: adds('local_settings.py'),
  },
  {
    title: 'Python plugins by os.listdir, as the only listing of the script’s folder',
    files: PYTHON('import os; open("o", "w").write(str(sorted(os.listdir("."))))\n'),
    flags: ['--input', 'm.py', '--output', 'o'],
    command: ['python3', 'm.py'],
    edit: adds('plugin.txt'),
  },
  {
    title: 'Python plugins by os.listdir, after an import',
    files: PYTHON('import json, os; open("o", "w").write(str(sorted(os.listdir("."))))\n'),
    flags: ['--input', 'm.py', '--output', 'o'],
    command: ['python3', 'm.py'],
    edit: adds('plugin.txt'),
  },
  {
    title: 'Python that lists a folder, and runs a file of it',
    files: {
      ...PYTHON(`${LISTS_CONF}exec(open("conf/a.py").read())\n`),
      'conf/a.py': 'x = 1\n',
    },
    flags: ['--input', 'm.py', '--input', 'conf/*.py', '--output', 'o'],
    command: ['/usr/bin/python3', 'm.py'],
    edit: adds('conf/c.yaml'),
    named: 'conf/c.yaml',
  },
  {
    title: 'Python that lists a folder, and loads a module of it by its path',
    files: {
      ...PYTHON(
        `${LISTS_CONF}import importlib.util as u\ns = u.spec_from_file_location("a", "conf/a.py"); s.loader.exec_module(u.module_from_spec(s))\n`,
      ),
      'conf/a.py': 'x = 1\n',
    },
    flags: ['--input', 'm.py', '--input', 'conf/*.py', '--output', 'o'],
    command: ['/usr/bin/python3', 'm.py'],
    edit: adds('conf/c.yaml'),
  },
  {
    title: 'Python that lists a folder after another process imported from it',
    files: {
      ...PYTHON(`${LISTS_CONF}exec(open("conf/a.py").read())\n`),
      'first.py': 'import conf.a\n',
      'conf/a.py': 'x = 1\n',
      'conf/__init__.py': '',
    },
    flags: ['--input', '*.py', '--input', 'conf/*.py', '--output', 'o'],
    command: sh('/usr/bin/python3 first.py && /usr/bin/python3 m.py'),
    edit: adds('conf/c.yaml'),
  },
  {
    title: 'Python that lists the folder of its script, and imports nothing',
    files: {
      ...PYTHON(
        `${LISTS_CONF.replaceAll('"conf"', '"/".join(__file__.split("/")[:-1]) or "."')}exec(open("x.py").read())\n`,
      ),
      'x.py': '',
    },
    flags: ['--input', '*.py', '--output', 'o'],
    command: ['/usr/bin/python3', 'm.py'],
    edit: adds('c.yaml'),
  },
  {
    title: 'esbuild: an import of all files that fit a path',
    files: { 'in.js': 'export const load = (n) => import("./data/" + n + ".md")\n', 'data/x.txt': '' },
    flags: ['--input', 'in.js', '--output', 'o.js'],
    command: ['esbuild', 'in.js', '--bundle', '--outfile=o.js'],
    edit: adds('data/x.md'),
    named: 'data/x.md',
  },
  {
    title: 'esbuild as a service: a file of any kind in the workspace',
    files: {
      'build.cjs': BUILD('loader: { ".foo": "text" }, resolveExtensions: [".foo", ".js"]'),
      'in.js': 'import t from "./data"; console.log(t)\n',
      'data.js': 'export default "js"\n',
    },
    flags: ['--input', '*.js', '--output', 'o.js'],
    command: ['node', 'build.cjs'],
    edit: adds('data.foo', 'foo'),
  },
  {
    title: 'tsc in a Node that loads other code first',
    files: {
      'a.ts': 'export const a = 1;\n',
      'tsconfig.json':
        '{ "compilerOptions": { "types": [], "outDir": "dist", "rootDir": "." }, "include": ["*.ts"] }',
      'hook.cjs': 'const fs = require("fs"); fs.writeFileSync("o", fs.readdirSync(".").join());\n',
    },
    flags: [
      '--input',
      'a.ts',
      '--input',
      'tsconfig.json',
      '--input',
      'hook.cjs',
      '--tool',
      'node',
      '--output',
      'dist',
      '--output',
      'o',
    ],
    command: sh(`NODE_OPTIONS=--require=./hook.cjs node ${TSC} -p .`),
    edit: adds('x.log'),
  },
  {
    title: 'mkdir of a folder that must not be there',
    files: { in: '' },
    flags: ['--input', 'in', '--output', 'dist/o'],
    command: sh('mkdir dist && echo >dist/o'),
    edit: adds('dist/.gitkeep'),
  },
  {
    title: 'mkdir of a folder that the command removes again',
    files: { in: '' },
    flags: ['--input', 'in', '--output', 'o'],
    command: sh('mkdir work && echo >o; rmdir work'),
    edit: adds('work/file'),
  },
  {
    title: 'make: a wildcard with a variable',
    files: { Makefile: 'D = src\no: $(wildcard $(D)/*.c)\n\techo $^ >o\n', 'src/a.c': '' },
    flags: ['--input', 'Makefile', '--input', 'src/a.c', '--output', 'o'],
    command: ['make', 'o'],
    edit: adds('src/b.c'),
  },
  {
    title: 'make: VPATH',
    files: { Makefile: 'VPATH = x:y\no: in.txt\n\tcat $< >o\n', 'y/in.txt': 'y\n', 'x/other': '' },
    flags: ['--input', 'Makefile', '--input', 'y/in.txt', '--output', 'o'],
    command: ['make', 'o'],
    edit: adds('x/in.txt', 'x\n'),
  },
  {
    title: 'make: a pattern that is included',
    files: { Makefile: '-include conf/*.mk\no:\n\techo $(X) >o\n', 'conf/readme': '' },
    flags: ['--input', 'Makefile', '--output', 'o'],
    command: ['make', 'o'],
    edit: adds('conf/a.mk', 'X = 1\n'),
  },
  {
    title: 'esbuild: a source of another kind beside the first',
    files: { 'in.js': 'import "./foo"\n', 'foo.js': 'console.log("js")\n' },
    flags: ['--input', 'in.js', '--input', 'foo.js', '--output', 'o.js'],
    command: ['esbuild', 'in.js', '--bundle', '--outfile=o.js'],
    edit: adds('foo.ts', 'console.log("ts")\n'),
  },
  {
    title: 'esbuild: a new tsconfig.json',
    files: { 'in.ts': 'class A { x }; console.log(new A)\n', 'README.md': '' },
    flags: ['--input', 'in.ts', '--output', 'o.js'],
    command: ['esbuild', 'in.ts', '--bundle', '--outfile=o.js'],
    edit: adds('tsconfig.json', '{"compilerOptions":{"useDefineForClassFields":false}}'),
  },
  {
    title: 'esbuild: plug’n’play data above the workspace',
    files: { 'in.js': 'console.log(1)\n' },
    flags: ['--input', 'in.js', '--output', 'o.js'],
    command: ['esbuild', 'in.js', '--bundle', '--outfile=o.js'],
    edit: adds('../.pnp.data.json', '{}'),
  },
  {
    title: 'a file that becomes a folder of the same name: find',
    files: FIND,
    flags: ['--input', 'src/a', '--output', 'o'],
    command: sh('find src -type f >o'),
    edit: (workspace) => {
      rmSync(join(workspace, 'src/b'));
      mkdirSync(join(workspace, 'src/b'));
    },
    named: 'src/b is a folder now',
  },
  {
    title: 'a file that becomes a folder of the same name: os.walk',
    files: { ...FIND, ...PYTHON('import os; open("o", "w").write(str(sorted(os.walk("src"))))\n') },
    flags: ['--input', 'src/a', '--input', 'm.py', '--output', 'o'],
    command: ['python3', 'm.py'],
    edit: (workspace) => {
      rmSync(join(workspace, 'src/b'));
      mkdirSync(join(workspace, 'src/b'));
    },
  },
  {
    title: 'a folder that becomes a link to equal content (npm link)',
    files: {
      'm.cjs': 'require("fs").writeFileSync("o", require("p"))',
      'node_modules/p/index.js': 'module.exports = require("path").basename(__dirname)',
      'node_modules/p/package.json': '{"name":"p"}',
    },
    flags: ['--input', 'm.cjs', '--output', 'o'],
    command: ['node', 'm.cjs'],
    edit: (workspace) => {
      renameSync(join(workspace, 'node_modules/p'), join(workspace, 'elsewhere'));
      symlinkSync('../elsewhere', join(workspace, 'node_modules/p'));
    },
  },
  {
    title: 'find, and a file in the folder of its output',
    files: { 'a.txt': '' },
    flags: ['--input', 'a.txt', '--output', 'dist/o'],
    command: sh('find . -name "*.txt" | sort >"$TMPDIR/o"; mkdir -p dist; cp "$TMPDIR/o" dist/o'),
    edit: adds('dist/b.txt'),
    named: 'dist/b.txt',
  },
  {
    title: 'find, and a file in a folder deeper around its output',
    files: { 'a.txt': '' },
    flags: ['--input', 'a.txt', '--output', 'dist/deep/o'],
    command: sh('find . -name "*.txt" | sort >"$TMPDIR/o"; mkdir -p dist/deep; cp "$TMPDIR/o" dist/deep/o'),
    edit: adds('dist/deep/b.txt'),
  },
  {
    title: 'a file in the folder of its output that the command looked for, and made',
    files: {},
    flags: ['--output', 'dist/o'],
    command: sh(
      'test -d dist && cat dist/*.txt >"$TMPDIR/o"; mkdir -p dist; touch "$TMPDIR/o"; cp "$TMPDIR/o" dist/o',
    ),
    edit: adds('dist/b.txt', 'text'),
  },
  {
    title: 'a script that is named mkdir, and the folder of its output that goes',
    files: {
      'make-folder': '#!/bin/sh\ntest -d dist && echo there >"$TMPDIR/o"\n/bin/mkdir -p dist\n',
      'dist/other': '',
    },
    flags: ['--input', 'make-folder', '--output', 'dist/o'],
    command: sh(
      'cp make-folder "$TMPDIR/mkdir"; chmod +x "$TMPDIR/mkdir"; "$TMPDIR/mkdir" dist; cat "$TMPDIR/o" >dist/o',
    ),
    edit: (workspace) => rmSync(join(workspace, 'dist'), { recursive: true }),
  },
];

/** A hit of none is sure before the edit: all names of the folders above count. */
const ABOVE: readonly Case[] = [
  {
    title: 'esbuild: a source above the workspace that was not there',
    files: { 'in.js': 'try { require("../opt") } catch { console.log("none") }\n' },
    flags: ['--input', 'in.js', '--output', 'o.js'],
    command: ['esbuild', 'in.js', '--bundle', '--outfile=o.js'],
    edit: adds('../opt.js', 'console.log("one")\n'),
  },
  {
    title: 'esbuild as a service: a source above the workspace that was not there',
    files: { ...SERVICE, 'in.js': 'try { require("../opt") } catch { console.log("none") }\n' },
    flags: ['--input', '*.js', '--output', 'o.js'],
    command: ['node', 'build.cjs'],
    edit: adds('../opt.js', 'console.log("one")\n'),
  },
  {
    title: 'esbuild as a service: a plugin reads a source above the workspace',
    files: {
      'build.cjs': BUILD(
        'plugins: [{ name: "p", setup(b) { b.onLoad({ filter: /opt/ }, ({ path }) => ({ contents: fs.readFileSync(path, "utf8") + "// " + path.slice(-6) })) } }]',
      ),
      'in.js': 'import "up"\n',
      'tsconfig.json': '{ "compilerOptions": { "paths": { "up": ["./x/../../opt"] } } }',
      '../opt.js': 'console.log("js")\n',
    },
    flags: ['--input', '*.js', '--input', 'tsconfig.json', '--output', 'o.js'],
    command: ['node', 'build.cjs'],
    edit: adds('../opt.tsx', 'console.log("tsx")\n'),
  },
];

const WAYS = ['in place', 'fresh clone'] as const;

describe('no hit', () => {
  test.each(ABOVE)('$title', async (one) => {
    for (const [path, content] of Object.entries(one.files)) shop.write(path, content);
    expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({ outcome: 'miss', exitCode: 0 });
    const made = readFileSync(join(shop.workspace, 'o.js'), 'utf8');
    one.edit(shop.workspace);
    expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({ outcome: 'miss', exitCode: 0 });
    expect(readFileSync(join(shop.workspace, 'o.js'), 'utf8')).not.toBe(made);
  });

  test.each(WRONG_HITS.map((one, at) => ({ ...one, ways: waysOf(WAYS, at) })))(
    '$title',
    async ({ ways, ...one }) => {
      const fresh = await prepare(one);
      if (ways.includes('in place')) {
        expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({ outcome: 'hit-local' });
        one.edit(shop.workspace);
        const { summary } = await run(one, shop.workspace, 'store', []);
        expect(summary.outcome).toBe('miss');
        if (one.named !== undefined) expect(summary.reason).toContain(one.named);
      }
      if (ways.includes('fresh clone')) {
        expect((await run(one, fresh, 'fresh-1')).summary).toMatchObject({ outcome: 'hit-remote' });
        one.edit(fresh);
        expect((await run(one, fresh, 'fresh-2')).summary.outcome).toBe('miss');
      }
    },
  );
});

test('find, and a file in a folder that the command left', async () => {
  const one = {
    title: 'left',
    flags: ['--output', 'o'],
    command: sh('find . -name "*.txt" | sort >o; mkdir -p gen; touch gen/x'),
  };
  expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({
    outcome: 'miss',
    published: true,
  });
  expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({ outcome: 'hit-local' });
  shop.write('gen/b.txt', '');
  expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({ outcome: 'miss' });
});

test('make: a wildcard above the workspace, observed', async () => {
  const workspace = join(shop.another('above'), 'workspace');
  shop.write('Makefile', 'o: $(wildcard ../*.mk)\n\techo $^ >o\n', 0o644, workspace);
  const one = { title: 'above', flags: ['--inputs=observed', '--output', 'o'], command: ['make', 'o'] };
  expect((await run(one, workspace, 'store', [])).summary).toMatchObject({
    outcome: 'miss',
    published: true,
  });
  expect((await run(one, workspace, 'store', [])).summary.outcome).toBe('hit-local');
  shop.write('../a.mk', '', 0o644, workspace);
  expect((await run(one, workspace, 'store', [])).summary.outcome).toBe('miss');
});

/** Programs with a lens, and names that they can't act on. */
const HITS: readonly Case[] = [
  {
    title: 'tsc: a readme, a log and a swap file',
    files: { 'src/a.ts': 'export const a = 1;\n', 'tsconfig.json': TSCONFIG },
    flags: ['--input', 'src/**/*.ts', '--input', 'tsconfig.json', '--output', 'dist'],
    command: ['tsc', '-p', '.'],
    edit: (workspace) => {
      for (const path of ['README.md', 'src/build.log', 'src/.a.ts.swp', '.git/index'])
        shop.write(path, '', 0o644, workspace);
    },
  },
  {
    title: 'tsc: the build information of a referenced project was there, and went',
    files: {
      'src/a.ts': 'export const a = 1;\n',
      'tsconfig.json': TSCONFIG.replace('"include"', '"references":[{"path":"lib"}],"include"'),
      'lib/src/b.ts': 'export const b = 1;\n',
      'lib/tsconfig.json': TSCONFIG.replace('{"compilerOptions":{', '{"compilerOptions":{"composite":true,'),
      'lib/tsconfig.tsbuildinfo': '{}',
    },
    flags: ['--input', '**/*.ts', '--input', '**/tsconfig.json', '--output', 'dist'],
    command: ['tsc', '-p', '.'],
    edit: (workspace) => rmSync(join(workspace, 'lib/tsconfig.tsbuildinfo')),
  },
  {
    title: 'esbuild: a readme, a log and a swap file',
    files: { 'in.js': 'import "./foo"\n', 'foo.js': 'console.log("js")\n' },
    flags: ['--input', 'in.js', '--input', 'foo.js', '--output', 'o.js'],
    command: ['esbuild', 'in.js', '--bundle', '--outfile=o.js'],
    edit: (workspace) => {
      for (const path of ['README.md', 'build.log', '.in.js.swp', '../beside'])
        shop.write(path, '', 0o644, workspace);
    },
  },
  {
    title: 'Python’s importer: a readme, a log and a swap file',
    files: PYTHON('import json; open("o", "w").write(json.__file__)\n'),
    flags: ['--input', 'm.py', '--output', 'o'],
    command: ['python3', 'm.py'],
    edit: (workspace) => {
      for (const path of ['README.md', 'build.log', '.m.py.swp']) shop.write(path, '', 0o644, workspace);
    },
  },
  {
    title: 'a script of Node: the caches of Python’s tools',
    files: { 'm.js': 'require("fs").readdirSync(".").filter((name) => name.endsWith(".js"))\n' },
    flags: ['--tool', 'node'],
    command: ['node', 'm.js'],
    edit: (workspace) => {
      for (const name of ['__pycache__', '.mypy_cache', '.ruff_cache'])
        mkdirSync(join(workspace, name), { recursive: true });
    },
  },
  {
    title: 'go: a readme, a log and a swap file',
    files: { 'go.mod': 'module m\n', 'main.go': 'package main\n\nfunc main() {}\n' },
    flags: ['--input', 'go.mod', '--input', '*.go', '--output', 'o'],
    command: ['go', 'build', '-buildvcs=false', '-trimpath', '-o', 'o', '.'],
    edit: (workspace) => {
      for (const path of ['README.md', 'build.log', '.main.go.swp', '_old/x', '.idea/y'])
        shop.write(path, '', 0o644, workspace);
    },
  },
  {
    title: 'esbuild: the folder of its output was there, and went',
    files: { 'in.js': 'console.log(1)\n', 'dist/o.js': '' },
    flags: ['--input', 'in.js', '--output', 'dist/o.js'],
    command: ['esbuild', 'in.js', '--bundle', '--outfile=dist/o.js'],
    edit: (workspace) => rmSync(join(workspace, 'dist'), { recursive: true }),
  },
  {
    title: 'find: the empty folder of its output comes',
    files: { 'a.txt': '' },
    flags: ['--input', 'a.txt', '--output', 'dist/o'],
    command: sh('find . -name "*.txt" | sort >"$TMPDIR/o"; mkdir -p dist; cp "$TMPDIR/o" dist/o'),
    edit: (workspace) => void mkdirSync(join(workspace, 'dist'), { recursive: true }),
  },
  {
    title: 'make in a worktree, where .git is a file',
    files: { Makefile: 'o: $(wildcard *.c)\n\techo $^ >o\n', 'a.c': '' },
    flags: ['--input', 'Makefile', '--input', '*.c', '--output', 'o'],
    command: ['make', 'o'],
    edit: (workspace) => {
      rmSync(join(workspace, '.git'), { recursive: true });
      shop.write('.git', 'gitdir: /elsewhere\n', 0o644, workspace);
    },
  },
];

describe('a hit', () => {
  test.each(HITS)('$title', async (one) => {
    const fresh = await prepare(one);
    one.edit(shop.workspace);
    expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({ outcome: 'hit-local' });
    one.edit(fresh);
    expect((await run(one, fresh, 'fresh')).summary).toMatchObject({ outcome: 'hit-remote' });
  });

  test('esbuild: a clone with fewer folders above it', async () => {
    const deep = join(shop.another('deep'), 'er/and/deeper');
    shop.write('in.js', 'console.log(1)\n', 0o644, deep);
    shop.write('in.js', 'console.log(1)\n');
    const flags = ['--input', 'in.js', '--output', 'o.js'];
    const one = { title: 'depth', flags, command: ['esbuild', 'in.js', '--bundle', '--outfile=o.js'] };
    expect((await run(one, deep, 'deep-store')).summary).toMatchObject({ outcome: 'miss', published: true });
    expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({ outcome: 'hit-remote' });
  });

  test('esbuild as a service: a clone at another depth, with others beside it', async () => {
    const deep = join(shop.another('deep'), 'er/and/deeper');
    for (const folder of [deep, shop.workspace])
      for (const [path, content] of Object.entries({ ...SERVICE, 'in.js': 'console.log(1)\n' }))
        shop.write(path, content, 0o644, folder);
    shop.write('../beside.ts', '', 0o644, deep);
    const flags = ['--input', 'in.js', '--input', 'build.cjs', '--output', 'o.js'];
    const one = { title: 'service', flags, command: ['node', 'build.cjs'] };
    expect((await run(one, deep, 'deep-store')).summary).toMatchObject({ outcome: 'miss', published: true });
    expect((await run(one, shop.workspace, 'store')).summary).toMatchObject({ outcome: 'hit-remote' });
  });

  test('go with //go:embed: a file that may be embedded counts', async () => {
    const one = {
      files: {
        'go.mod': 'module m\n\ngo 1.19\n',
        'main.go':
          'package main\n\nimport "embed"\n\n//go:embed data\nvar d embed.FS\n\nfunc main() { _ = d }\n',
        'data/a.txt': '',
      },
      flags: ['--input', 'go.mod', '--input', '*.go', '--output', 'o'],
      command: ['go', 'build', '-buildvcs=false', '-trimpath', '-o', 'o', '.'],
      title: 'embed',
      edit: () => {},
    };
    await prepare(one);
    shop.write('data/b.txt', '');
    expect((await run(one, shop.workspace, 'store')).summary.outcome).toBe('miss');
    expect(readFileSync(join(shop.workspace, 'o')).length).toBeGreaterThan(0);
  });
});
