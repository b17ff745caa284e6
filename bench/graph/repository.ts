// A generated repository that Assay and its peers understand: npm workspaces whose packages copy their source
// to dist. Nine of ten packages depend on the tenth, so that there is an order.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Shape {
  readonly packages: number;
  /** Files in each package's src. */
  readonly files: number;
  readonly fileBytes: number;
  /** How long each command sleeps before it copies; 0 by default. */
  readonly sleepSeconds?: number;
}

const GROUP = 10;
const COPY = 'mkdir -p dist && cp -r src/. dist/';

export function makeRepository(root: string, { packages, files, fileBytes, sleepSeconds = 0 }: Shape): void {
  const command = sleepSeconds > 0 ? `sleep ${sleepSeconds} && ${COPY}` : COPY;
  const write = (path: string, content: unknown) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    const isRaw = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(file, isRaw ? content : `${JSON.stringify(content, undefined, 2)}\n`);
  };
  const names = Array.from({ length: packages }, (_, at) => `p${at}`);
  for (const [at, name] of names.entries()) {
    const head = `p${at - (at % GROUP)}`;
    const dependencies = head === name ? {} : { [head]: '1.0.0' };
    write(`packages/${name}/package.json`, {
      name,
      version: '1.0.0',
      scripts: { build: command },
      dependencies,
      wireit: { build: wireitStep(command, head === name ? undefined : head) },
    });
    for (let file = 0; file < files; file++) {
      const folder = files > 100 ? `d${file % 100}/` : '';
      write(`packages/${name}/src/${folder}f${file}.js`, contentOf(name, file, fileBytes));
    }
  }
  writeConfigurations(write, names);
}

/** Makes a Git repository of it: Turborepo hashes what Git knows. */
export function commitAll(root: string): void {
  const author = ['-c', 'user.name=b', '-c', 'user.email=b@b'];
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    [...author, 'commit', '-qm', 'all'],
  ])
    execFileSync('git', args, { cwd: root });
}

function writeConfigurations(
  write: (path: string, content: unknown) => void,
  names: readonly string[],
): void {
  const build = { inputs: ['src/**'], outputs: ['dist/**'] };
  write('package.json', {
    name: 'root',
    private: true,
    version: '1.0.0',
    packageManager: 'npm@10.0.0',
    workspaces: ['packages/*'],
  });
  write('package-lock.json', lockfile(names));
  write('.gitignore', 'node_modules\ndist\n.turbo\n.nx\n.moon/cache\n.wireit\n.assay\n');
  write('assay.json', {
    packageSteps: { build: { inputs: ['src/**'], outputs: ['dist'], dependsOn: ['^build'] } },
  });
  write('turbo.json', { tasks: { build: { ...build, dependsOn: ['^build'] } } });
  write('nx.json', {
    targetDefaults: {
      build: {
        cache: true,
        dependsOn: ['^build'],
        inputs: ['{projectRoot}/src/**'],
        outputs: ['{projectRoot}/dist'],
      },
    },
    analytics: false,
  });
  write(
    'lage.config.js',
    "module.exports = { pipeline: { build: ['^build'] }, cacheOptions: { outputGlob: ['dist/**'] } };\n",
  );
}

function wireitStep(command: string, head: string | undefined): object {
  const dependencies = head === undefined ? [] : [`../${head}:build`];
  return { command, files: ['src/**'], output: ['dist/**'], dependencies };
}

/** As npm writes it, because some tools find the workspaces there. */
function lockfile(names: readonly string[]): object {
  const links = names.map((name) => [`node_modules/${name}`, { resolved: `packages/${name}`, link: true }]);
  const own = names.map((name) => [`packages/${name}`, { version: '1.0.0' }]);
  return {
    name: 'root',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: {
      '': { name: 'root', version: '1.0.0', workspaces: ['packages/*'] },
      ...Object.fromEntries([...links, ...own]),
    },
  };
}

function contentOf(name: string, file: number, bytes: number): Uint8Array {
  const line = `// ${name} ${file}\n`;
  return Buffer.alloc(Math.max(bytes, line.length), line);
}

if (import.meta.main) {
  const [root = '', packages = '10', files = '1', fileBytes = '64'] = process.argv.slice(2);
  makeRepository(root, { packages: Number(packages), files: Number(files), fileBytes: Number(fileBytes) });
}
