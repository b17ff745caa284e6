// `npm run bench -- agent [--edits N] [--worktrees N]`: plays a coding agent in several worktrees of one repository at once.
// After each edit it asks for the build and the tests of all packages, and reads what is printed. Plain npm, Turborepo and
// Assay take turns, each with its own repository. Prints what each one had to read, how many commands really ran, and
// the CPU time of all processes.
//
// The repository has three packages with 100 tests each: `lib`, and two that import it. A build is tsc, a test is node --test.
// The edits are shared out evenly, and come in rounds of six in each worktree:
//
//   own      a function of a package changes, in another way in each worktree
//   pulled   a function changes in the same way in all worktrees
//   notes    a file changes that no step reads
//   broken   a test of a package fails
//   again    the agent asks again without an edit that matters: a file is saved as it is
//   mended   the test is as before
//
// Turborepo and Assay have one cache for all worktrees. Nothing is asserted. Needs `npm run build` and GNU time; the first
// run installs Turborepo from the registry. No model is asked.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { contestants, installPeers, TURBO } from './graph/contestants.ts';
import { commitAll } from './graph/repository.ts';
import { table } from './server/table.ts';

const PROJECT = join(import.meta.dirname, '..');
const PACKAGES = ['lib', 'api', 'web'] as const;
const FUNCTIONS = 20;
/** Files, and cases in each. */
const TESTS = 4;
const CASES = 25;
const EDITS = ['own', 'pulled', 'notes', 'broken', 'again', 'mended'] as const;

const edits = Number(flag('--edits') ?? 30);
const worktrees = Number(flag('--worktrees') ?? 4);

interface Rival {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly environment?: Readonly<Record<string, string>>;
  /** How many of the six commands ran, as it says. */
  ran(said: string): number;
}

interface Cost {
  readonly bytes: number;
  readonly ran: number;
  readonly cpuMs: number;
}

installPeers();
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-bench-agent-')));
try {
  const rows = [['', 'bytes read', 'commands that ran', 'CPU', 'wall']];
  for (const rival of rivals()) {
    const { wallMs, bytes, ran, cpuMs } = await play(rival);
    rows.push([rival.name, String(bytes), String(ran), seconds(cpuMs), seconds(wallMs)]);
  }
  console.log(`${edits} edits in ${worktrees} worktrees at once, six commands for each edit\n`);
  console.log(table(rows));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function flag(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at === -1 ? undefined : process.argv[at + 1];
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function rivals(): Rival[] {
  const turbo = contestants().find(({ name }) => name === TURBO);
  if (!turbo) throw new Error('Turborepo is missing');
  const [native] = turbo.command;
  const both = 'npm run build --workspaces && npm run test --workspaces';
  const quiet = { TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' };
  const tasks = ['run', 'build', 'test', '--no-daemon', '--continue'] as const;
  return [
    { name: 'npm', command: ['sh', '-c', both], ran: (said) => count(/^> (?:tsc|node) /gm, said) },
    {
      name: 'Turborepo',
      command: [native, ...tasks],
      environment: quiet,
      ran: (said) => count(/cache miss, executing/g, said),
    },
    {
      name: 'Turborepo, logs of failures only',
      command: [native, ...tasks, '--output-logs=errors-only'],
      environment: quiet,
      ran: ranInTurbo,
    },
    {
      name: 'Assay',
      command: [
        join(PROJECT, 'dist', 'assay-start'),
        'run',
        '--json=short',
        '--cache-failures=local',
        '--keep-going',
        'build',
        'test',
      ],
      ran: ranInAssay,
    },
  ];
}

function count(pattern: RegExp, text: string): number {
  return [...text.matchAll(pattern)].length;
}

/** "Cached: 3 cached, 6 total". What failed before another step could begin is in neither number. */
function ranInTurbo(said: string): number {
  const [, cached = '0', total = '0'] = /Cached:\s+(\d+) cached, (\d+) total/.exec(said) ?? [];
  return Number(total) - Number(cached);
}

function ranInAssay(said: string): number {
  const { ran, failures = [] } = JSON.parse(said.slice(said.indexOf('{"version"')));
  return ran + failures.filter(({ replayed = false }) => !replayed).length;
}

/** All agents of one contestant. */
async function play(rival: Rival): Promise<Cost & { readonly wallMs: number }> {
  const own = join(folder, rival.name.replaceAll(/\W+/g, '-'));
  const first = join(own, 'worktree-0');
  makeRepository(first);
  for (let at = 1; at < worktrees; at++)
    execFileSync('git', ['worktree', 'add', '-q', join(own, `worktree-${at}`)], { cwd: first });
  const roots = Array.from({ length: worktrees }, (_, at) => join(own, `worktree-${at}`));
  for (const root of roots) install(root);
  await ask(rival, first, own);
  const began = performance.now();
  const costs = (await Promise.all(roots.map((root, at) => playIn(rival, root, at, own)))).flat();
  const sum = (of: keyof Cost) => costs.reduce((total, cost) => total + cost[of], 0);
  return { bytes: sum('bytes'), ran: sum('ran'), cpuMs: sum('cpuMs'), wallMs: performance.now() - began };
}

async function playIn(rival: Rival, root: string, agent: number, own: string): Promise<Cost[]> {
  const costs: Cost[] = [];
  const share = Math.ceil((edits - agent) / worktrees);
  for (let at = 0; at < share; at++) {
    edit(root, agent, at);
    costs.push(await ask(rival, root, own));
  }
  return costs;
}

function edit(root: string, agent: number, at: number): void {
  const round = Math.floor(at / EDITS.length);
  const name = PACKAGES[round % PACKAGES.length] ?? 'lib';
  const kind = EDITS[at % EDITS.length];
  const source = join(root, 'packages', name, 'src', `f${round % FUNCTIONS}.ts`);
  const test = join(root, 'packages', name, 'test', 'f0.test.mjs');
  const change = (file: string, from: string | RegExp, to: string) =>
    writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
  if (kind === 'own') change(source, /\/\/ .*$/m, `// agent ${agent}, round ${round}`);
  else if (kind === 'pulled') change(source, /\/\/ .*$/m, `// pulled in round ${round}`);
  else if (kind === 'notes') writeFileSync(join(root, 'NOTES.md'), `round ${round}\n`);
  else if (kind === 'broken') change(test, '2 * n));', '2 * n + (n === 7)));');
  else if (kind === 'again') writeFileSync(source, readFileSync(source));
  else change(test, '2 * n + (n === 7)));', '2 * n));');
}

function ask({ command, environment, ran }: Rival, root: string, own: string): Promise<Cost> {
  const times = join(root, '.times');
  const child = spawn('/usr/bin/time', ['-q', '-o', times, '-f', '%U %S', ...command], {
    cwd: root,
    env: {
      PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`,
      HOME: own,
      ASSAY_STORE: join(own, 'cache'),
      TURBO_CACHE_DIR: join(own, 'cache'),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => pieces.push(bytes));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => {
      const said = Buffer.concat(pieces);
      const [user = 0, system = 0] = readFileSync(times, 'utf8').trim().split(' ').map(Number);
      resolve({ bytes: said.length, ran: ran(said.toString()), cpuMs: 1000 * (user + system) });
    });
  });
}

function makeRepository(root: string): void {
  const write = (path: string, content: string | object) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : `${JSON.stringify(content, undefined, 2)}\n`);
  };
  const inputs = ['src/**', 'test/**', 'package.json', 'tsconfig.json'];
  write('package.json', {
    name: 'root',
    private: true,
    version: '1.0.0',
    packageManager: 'npm@10.0.0',
    workspaces: ['packages/*'],
  });
  write('package-lock.json', { name: 'root', version: '1.0.0', lockfileVersion: 3, packages: {} });
  write('.gitignore', 'node_modules\ndist\n.turbo\n.assay\n.times\n');
  const build = {
    inputs: ['src/**', 'package.json', 'tsconfig.json'],
    outputs: ['dist'],
    dependsOn: ['^build'],
  };
  write('assay.json', { packageSteps: { build, test: { inputs, dependsOn: ['build'] } } });
  write('turbo.json', {
    tasks: { build: { ...build, outputs: ['dist/**'] }, test: { inputs, dependsOn: ['build'] } },
  });
  for (const name of PACKAGES) {
    const at = (path: string) => `packages/${name}/${path}`;
    const dependencies = name === 'lib' ? {} : { lib: '1.0.0' };
    write(at('package.json'), {
      ...{ name, version: '1.0.0', type: 'module', exports: './dist/index.js' },
      scripts: { build: 'tsc -p .', test: 'node --test test/*.test.mjs' },
      dependencies,
    });
    const compilerOptions = {
      outDir: 'dist',
      rootDir: 'src',
      target: 'es2022',
      module: 'nodenext',
      declaration: true,
    };
    write(at('tsconfig.json'), {
      compilerOptions: { ...compilerOptions, strict: true, types: [] },
      include: ['src'],
    });
    const files = Array.from({ length: FUNCTIONS }, (_, index) => index);
    for (const index of files) {
      const body = `export function f${index}(x: number): number {\n  // round -1\n  return x * ${index + 2};\n}\n`;
      write(at(`src/f${index}.ts`), body);
      if (index >= TESTS) continue;
      const used = `import test from 'node:test';\nimport { equal } from 'node:assert/strict';\nimport { f${index} } from '${name}';\n`;
      write(
        at(`test/f${index}.test.mjs`),
        `${used}for (let n = 0; n < ${CASES}; n++)\n  test(\`f${index} of \${n}\`, () => equal(f${index}(n), ${index + 2} * n));\n`,
      );
    }
    const own = files.map((index) => `export * from './f${index}.js';\n`).join('');
    write(at('src/index.ts'), name === 'lib' ? own : `${own}export { f0 as ofLib } from 'lib';\n`);
  }
  commitAll(root);
}

/** As npm would: TypeScript, and a link for each package. */
function install(root: string): void {
  const modules = join(root, 'node_modules');
  mkdirSync(modules);
  for (const name of ['typescript', '@typescript'])
    cpSync(join(PROJECT, 'node_modules', name), join(modules, name), {
      recursive: true,
      verbatimSymlinks: true,
    });
  mkdirSync(join(modules, '.bin'));
  const links = [
    ['../typescript/bin/tsc', '.bin/tsc'],
    ...PACKAGES.map((name) => [`../packages/${name}`, name]),
  ];
  for (const [target = '', link = ''] of links) execFileSync('ln', ['-s', target, join(modules, link)]);
}
