// A repository of three real packages: the published sources of TanStack Form, built by vite with the
// configuration of its authors. They are installed from the registry beside the tools that build them, with the
// versions of tanstack-form/package-lock.json.
//
// The packages are workspaces, as in their own repository: node_modules links to them, and a package imports what
// the one before it built.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const INSTALLED = join(import.meta.dirname, 'tanstack-form');

/** In the order in which they depend on each other. */
export const PACKAGES: readonly string[] = ['store', 'form-core', 'react-form'];

const VITE_CONFIG = `import { tanstackViteConfig } from '@tanstack/vite-config';

export default tanstackViteConfig({ entry: './src/index.ts', srcDir: './src' });
`;

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export function installProject(): void {
  if (existsSync(join(INSTALLED, 'node_modules'))) return;
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
    cwd: INSTALLED,
    stdio: 'inherit',
  });
}

export function makeRealRepository(root: string): void {
  mkdirSync(root, { recursive: true });
  cpSync(join(INSTALLED, 'node_modules'), join(root, 'node_modules'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  cpSync(join(INSTALLED, 'package-lock.json'), join(root, 'package-lock.json'));
  for (const name of PACKAGES) makeWorkspace(root, name);
  const inputs = ['src/**', 'package.json', 'tsconfig.json', 'vite.config.js'];
  const dependsOn = ['^build'];
  const files: Readonly<Record<string, object>> = {
    'package.json': {
      name: 'root',
      private: true,
      version: '1.0.0',
      packageManager: 'npm@10.0.0',
      workspaces: ['packages/*'],
    },
    'tsconfig.json': {
      compilerOptions: {
        target: 'es2022',
        lib: ['es2022', 'dom'],
        module: 'esnext',
        moduleResolution: 'bundler',
        jsx: 'react-jsx',
        strict: true,
        declaration: true,
        skipLibCheck: true,
        noEmit: true,
      },
    },
    'assay.json': { packageSteps: { build: { inputs, outputs: ['dist'], dependsOn } } },
    'turbo.json': { tasks: { build: { inputs, outputs: ['dist/**'], dependsOn } } },
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), json(content));
  writeFileSync(join(root, '.gitignore'), 'node_modules\ndist\n.turbo\n.assay\n');
}

/** The sources of an installed package become a workspace, and node_modules links to it. */
function makeWorkspace(root: string, name: string): void {
  const installed = join(root, 'node_modules', '@tanstack', name);
  const folder = join(root, 'packages', name);
  const manifest: Manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  cpSync(join(installed, 'src'), join(folder, 'src'), { recursive: true });
  rmSync(installed, { recursive: true });
  symlinkSync(join('..', '..', 'packages', name), installed);
  writeFileSync(join(folder, 'package.json'), json(manifestOf(name, manifest)));
  writeFileSync(join(folder, 'tsconfig.json'), json({ extends: '../../tsconfig.json', include: ['src'] }));
  writeFileSync(join(folder, 'vite.config.js'), VITE_CONFIG);
}

function manifestOf(name: string, { version, dependencies = {}, peerDependencies = {} }: Manifest): object {
  const types = './dist/esm/index.d.ts';
  return {
    name: `@tanstack/${name}`,
    version,
    type: 'module',
    types,
    exports: { '.': { types, import: './dist/esm/index.js', require: './dist/cjs/index.cjs' } },
    dependencies,
    peerDependencies,
    scripts: { build: 'vite build' },
  };
}

function json(content: object): string {
  return `${JSON.stringify(content, undefined, 2)}\n`;
}
