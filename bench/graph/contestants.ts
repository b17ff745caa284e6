// The contestants, and how each one builds all packages of a generated repository.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Contestant {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Takes minutes where others take seconds: gets fewer steps, and is omitted where nothing can be compared.
   */
  readonly isSlow?: true;
  /** Adds the files that the contestant needs to the repository. */
  prepare?(root: string): void;
  /** Stops processes that it left running. */
  stop?(root: string): void;
}

const PROJECT = join(import.meta.dirname, '..', '..');
const TOOLS = join(PROJECT, 'test', 'clients', 'tools');
const PEERS = join(import.meta.dirname, 'peers');

/** An npm without npm's start-up time: caches are filled in seconds instead of minutes. */
const QUICK_NPM = join(import.meta.dirname, 'quick-npm');

/** The contestants that the targets name. */
export const EXECUTABLE = 'Assay, executable';
export const BUNDLE = 'Assay, bundle for Node';
export const TURBO = 'Turborepo, native';
export const TURBO_SHIM = 'Turborepo, npm shim';

export function installPeers(): void {
  for (const folder of [TOOLS, PEERS]) {
    if (existsSync(join(folder, 'node_modules'))) continue;
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
      cwd: folder,
      stdio: 'inherit',
    });
  }
}

export function contestants(): Contestant[] {
  const tool = (name: string) => join(TOOLS, 'node_modules', '.bin', name);
  const peer = (name: string) => join(PEERS, 'node_modules', '.bin', name);
  const turbo = ['run', 'build', '--no-daemon', '--output-logs=none'] as const;
  const quiet = {
    PATH: `${QUICK_NPM}:${process.env.PATH}`,
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
    NX_TUI: 'false',
    CI: '1',
  };
  return [
    // As it is installed: the starter becomes the executable.
    { name: EXECUTABLE, command: [join(PROJECT, 'dist', 'assay-start'), 'run', '--logs=none', 'build'] },
    {
      name: BUNDLE,
      command: [process.execPath, join(PROJECT, 'dist', 'node', 'assay.cjs'), 'run', '--logs=none', 'build'],
    },
    { name: TURBO, command: [nativeTurbo(), ...turbo], environment: quiet },
    { name: TURBO_SHIM, command: [tool('turbo'), ...turbo], environment: quiet },
    {
      name: 'Nx, no daemon',
      isSlow: true,
      command: [tool('nx'), 'run-many', '-t', 'build', '--parallel=2'],
      environment: { ...quiet, NX_DAEMON: 'false' },
      prepare: (root) => linkPackage(root, TOOLS, 'nx'),
    },
    {
      name: 'Nx, daemon',
      isSlow: true,
      command: [tool('nx'), 'run-many', '-t', 'build', '--parallel=2'],
      environment: { ...quiet, CI: '', NX_DAEMON: 'true' },
      prepare: (root) => linkPackage(root, TOOLS, 'nx'),
      stop: (root) => spawnSync(tool('nx'), ['daemon', '--stop'], { cwd: root, stdio: 'ignore' }),
    },
    {
      name: 'moon',
      isSlow: true,
      command: [tool('moon'), 'run', ':build', '--quiet'],
      environment: quiet,
      prepare: describeToMoon,
    },
    {
      name: 'wireit',
      isSlow: true,
      command: ['npm', 'run', 'all', '--silent'],
      environment: {
        PATH: `${join(PEERS, 'node_modules', '.bin')}:${process.env.PATH}`,
        WIREIT_LOGGER: 'quiet',
      },
      prepare: useWireit,
    },
    {
      name: 'lage',
      isSlow: true,
      command: [peer('lage'), 'build', '--silent'],
      environment: quiet,
      prepare: (root) => linkPackage(root, PEERS, 'lage'),
    },
  ];
}

function nativeTurbo(): string {
  const scope = join(TOOLS, 'node_modules', '@turbo');
  const platform = existsSync(scope)
    ? readdirSync(scope).find((name) => name.startsWith('linux'))
    : undefined;
  return join(scope, platform ?? `linux-${process.arch}`, 'bin', 'turbo');
}

function linkPackage(root: string, from: string, name: string): void {
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  symlinkSync(join(from, 'node_modules', name), join(root, 'node_modules', name));
}

function describeToMoon(root: string): void {
  mkdirSync(join(root, '.moon'));
  writeFileSync(join(root, '.moon', 'workspace.yml'), 'projects: ["packages/*"]\ntelemetry: false\n');
  const task =
    'command: "sh -c \'mkdir -p dist && cp -r src/. dist/\'"\n    inputs: ["src/**/*"]\n    outputs: ["dist"]';
  for (const name of readdirSync(join(root, 'packages'))) {
    const file = readFileSync(join(root, 'packages', name, 'package.json'), 'utf8');
    const { dependencies = {} }: { dependencies?: Record<string, string> } = JSON.parse(file);
    const needs = Object.keys(dependencies);
    const text = `dependsOn: ${JSON.stringify(needs)}\ntasks:\n  build:\n    ${task}\n    deps: ["^:build"]\n`;
    writeFileSync(join(root, 'packages', name, 'moon.yml'), text);
  }
}

/** wireit replaces each script, and one script in the root depends on all of them. */
function useWireit(root: string): void {
  const names = readdirSync(join(root, 'packages'));
  for (const name of names)
    edit(join(root, 'packages', name, 'package.json'), { scripts: { build: 'wireit' } });
  edit(join(root, 'package.json'), {
    scripts: { all: 'wireit' },
    wireit: { all: { dependencies: names.map((name) => `./packages/${name}:build`) } },
  });
}

function edit(file: string, more: object): void {
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...more }));
}
