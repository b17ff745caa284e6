// What `npm run package` makes works where it is installed: in a folder with nothing else, without a network
// and without a Node of its own, the client and the server each. (`npm test` builds first what it packs.)
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../core/version.ts';
import { type Ran, runProcess } from '../rig/assay.ts';
import { inNamespaces } from '../rig/users.ts';

const PROJECT = join(import.meta.dirname, '../..');
const PACKING_MS = 600_000;

let folder = '';
let env: Record<string, string> = {};
let progress = '';

const within = (path: string) => join(folder, path);
const assay = (...args: string[]) => run(within('node_modules/.bin/assay'), ...args);
const assayServer = (...args: string[]) => run(within('node_modules/.bin/assay-server'), ...args);
const script = (text: string) => run(process.execPath, '--input-type=module', '--eval', text);
const run = (...command: string[]) => runProcess(command, { cwd: folder, env });
const npm = (...args: string[]) =>
  execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const outcome = ({ stderr }: Ran) => /^assay: (hit \(\w+\)|miss)/m.exec(stderr)?.[1];

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-package-')));
  env = { PATH: '/usr/bin:/bin', HOME: folder, ASSAY_STORE: within('store') };
  const ran = spawnSync(process.execPath, [join(PROJECT, 'scripts/package.ts')], { encoding: 'utf8' });
  progress = ran.stderr;
  writeFileSync(within('package.json'), '{ "private": true, "type": "module" }');
  npm('install', '--offline', '--no-audit', '--no-fund', ...ran.stdout.trim().split('\n'));
}, PACKING_MS);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('packing says what it is at', () => {
  expect(progress).toMatch(/^ +\d+ s {2}packing assay for .*\n +\d+ s {2}packing assay-server for .*\n$/);
});

test('it brings no other package and none of the tests', () => {
  expect(readdirSync(within('node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    'assay',
    'assay-server',
  ]);
  const pages = ['CHANGELOG.md', 'LICENSE', 'NOTICES', 'README.md', 'SECURITY.md', 'docs', 'wings'];
  const both = [...pages, 'dist', 'package.json', 'schema'].sort();
  expect(readdirSync(within('node_modules/assay')).sort()).toEqual([...both, 'man'].sort());
  expect(readdirSync(within('node_modules/assay-server')).sort()).toEqual(both);
});

test('the client brings no Node, and the server no Bun', () => {
  const dist = (name: string) => readdirSync(within(`node_modules/${name}/dist`)).sort();
  expect(dist('assay')).toEqual(['assay', 'assay-start', 'assay-trace', 'assay-vary', 'lib']);
  expect(dist('assay-server')).toEqual(['assay-server', 'node']);
});

test('each says which machines it is for, and can not be published by mistake', () => {
  for (const name of ['assay', 'assay-server']) {
    const manifest = JSON.parse(readFileSync(within(`node_modules/${name}/package.json`), 'utf8'));
    expect(manifest).toMatchObject({ os: ['linux'], cpu: [process.arch], libc: ['glibc'], private: true });
    for (const field of ['scripts', 'dependencies', 'optionalDependencies'])
      expect(Object.keys(manifest)).not.toContain(field);
  }
});

test('the links of its pages lead to files that it brings', () => {
  const root = within('node_modules/assay');
  const pages = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.md'),
  );
  expect(pages.length).toBeGreaterThan(100);
  const links = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/\]\(([^()\s#]+)[^()\s]*\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
      .map((link) => ({ page, link, leads: existsSync(join(root, dirname(page), link)) })),
  );
  expect(links.length).toBeGreaterThan(100);
  expect(links.filter(({ leads }) => !leads)).toEqual([]);
});

test('each brings the licences of what it holds', () => {
  expect(readFileSync(within('node_modules/assay-server/dist/node/LICENSE'), 'utf8')).toContain('Node.js');
  for (const name of ['assay', 'assay-server']) {
    const notices = readFileSync(within(`node_modules/${name}/NOTICES`), 'utf8');
    expect(notices).toMatch(/^lmdb [0-9.]+ \(MIT\)$/m);
    expect(notices).toMatch(/^fastify [0-9.]+ \(MIT\)$/m);
    expect(notices).not.toMatch(/^vitest /m);
  }
});

test('its man page has the help of every command', async () => {
  const { man } = JSON.parse(readFileSync(within('node_modules/assay/package.json'), 'utf8'));
  const page = readFileSync(within(join('node_modules/assay', ...man)), 'utf8');
  const { stdout } = await assay('completion', 'fish');
  const commands = [...stdout.matchAll(/use_subcommand -f -a (\S+) -d/g)].map(([, name = '']) => name);
  expect(commands).toContain('run');
  for (const name of commands) expect(page).toContain(`.SH "ASSAY ${name.toUpperCase()}"\n`);
  expect(page).toMatch(/\n {2}\\-\\-hermetic off/);
  expect(page).not.toMatch(/\n'/); // a request of roff
});

test('the command runs, watches, and hits', async () => {
  expect(await assay('--version')).toMatchObject({ code: 0, stdout: `assay ${VERSION}\n`, stderr: '' });
  const step = ['run', '--output', 'made', '--', '/bin/sh', '-c', 'cat /etc/hostname > made'];
  const miss = await assay(...step);
  expect(outcome(miss)).toBe('miss');
  expect(miss.stderr).toContain('not declared: read /etc/hostname'); // its tracer saw that
  rmSync(within('made'));
  expect((await assay(...step)).stderr).toContain('1 output restored');
});

test('no command sees the options of the engine that the starter sets', async () => {
  const declared = ['--env', 'BUN_JSC_useFTLJIT', '--env', 'ASSAY_START_JIT', '--', '/bin/sh', '-c', 'env'];
  const ran = await assay('run', ...declared);
  expect(ran.stdout).toContain('HOME=');
  expect(ran.stdout).not.toMatch(/BUN_JSC|ASSAY_START/);
  const [command, own] = [within('node_modules/.bin/assay'), { ...env, BUN_JSC_useFTLJIT: '1' }];
  const kept = await runProcess([command, 'run', ...declared], { cwd: folder, env: own });
  expect(kept.stdout).toContain('BUN_JSC_useFTLJIT=1');
});

test('without /proc the client says that Node would start, and the server, which is Node, starts', async () => {
  const inRoom = [...inNamespaces('--mount'), 'sh', '-c', 'mount -t tmpfs tmpfs /proc && exec "$@"', 'sh'];
  const client = await run(...inRoom, within('node_modules/.bin/assay'), '--version');
  expect(client).toMatchObject({ code: 125, stdout: '' });
  expect(client.stderr).toContain('assay: /proc/self/maps cannot be read, so Assay runs on Node');
  expect(client.stderr).toContain('mount /proc, or install assay-server, which brings Node\n');
  const server = await run(...inRoom, within('node_modules/.bin/assay-server'), '--version');
  expect(server).toMatchObject({ code: 0, stdout: `assay ${VERSION}\n`, stderr: '' });
});

test('without /proc the client runs on the Node of the server, where both are in one folder', async () => {
  const both = within('both');
  for (const name of ['assay', 'assay-server'])
    cpSync(within(`node_modules/${name}/dist`), both, { recursive: true });
  const inRoom = [...inNamespaces('--mount'), 'sh', '-c', 'mount -t tmpfs tmpfs /proc && exec "$@"', 'sh'];
  const ran = await run(
    ...inRoom,
    join(both, 'assay-start'),
    'run',
    '--',
    '/bin/sh',
    '-c',
    'echo ran; exit 7',
  );
  expect(ran).toMatchObject({ code: 7, stdout: 'ran\n' });
  expect(ran.stderr).toContain(
    'assay: /proc/self/maps cannot be read, so Assay runs on Node, which starts more slowly\n',
  );
});

test('a client alone does not serve, and says what to install', async () => {
  const ran = await assay('serve', '--port', '0');
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain('ASSAY_NO_NODE');
  expect(ran.stderr).toContain('Install assay-server');
});

test('the server serves, on its Node and in the process that was started', async () => {
  expect(await assayServer('serve', '--help')).toMatchObject({ code: 0 });
  const server = spawn(within('node_modules/.bin/assay-server'), ['serve', '--port', '0'], {
    cwd: folder,
    env: { ...env, NODE_OPTIONS: '--no-such-option' },
  });
  try {
    const url = await addressOf(server);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(await shownBy(url)).toEqual(PAGES);
    const running = readlinkSync(`/proc/${server.pid}/exe`);
    expect(running).toBe(within('node_modules/assay-server/dist/node/node'));
    const environment = readFileSync(`/proc/${server.pid}/environ`, 'utf8').split('\0');
    expect(environment).toContain('MALLOC_ARENA_MAX=2');
  } finally {
    server.kill();
    expect(await once(server, 'exit')).toEqual([0, null]);
  }
});

/** By path: the title of each page. */
const PAGES = {
  '/': 'Now',
  '/runs': 'Runs',
  '/runs/trends': 'Trends',
  '/misses': 'Misses worth fixing',
  '/hermeticity': 'Hermeticity',
  '/storage': 'Storage and trust',
  '/setup': 'Set up',
};

/** The titles of the pages in the navigation, each with all files that it loads. */
async function shownBy(url: string): Promise<Record<string, string>> {
  const titles: Record<string, string> = {};
  const read = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { headers: { accept: 'text/html' } });
    expect({ path, status: answer.status }).toEqual({ path, status: 200 });
    return answer.text();
  };
  const front = await read('/');
  for (const [, path = ''] of front.matchAll(/<li><a href="([^"]+)"/g)) {
    const page = await read(path);
    titles[path] = /<title>(.*?) · Assay<\/title>/.exec(page)?.[1] ?? '';
    for (const [, file = ''] of page.matchAll(/(?:href|src)="(\/~assets\/[^"]+)"/g))
      expect((await read(file)).length).toBeGreaterThan(0);
  }
  return titles;
}

test('the library runs and watches, and the schemas are there', async () => {
  writeFileSync(within('words.txt'), 'b\na\n');
  const ran = await script(`
    import { run } from 'assay';
    import schema from 'assay/schema.json' with { type: 'json' };
    import serverSchema from 'assay/server-schema.json' with { type: 'json' };
    import answersSchema from 'assay/answers-schema.json' with { type: 'json' };
    const action = { command: ['sort', '-o', 'sorted', 'words.txt'], inputs: ['words.txt'], outputs: ['sorted'] };
    for (const time of [1, 2]) {
      const { outcome, status } = await run(action);
      console.log(outcome, status);
    }
    console.log(schema.title);
    console.log(serverSchema.title);
    console.log(answersSchema.title);`);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toMatch(
    /^miss declared\nhit-local declared\nassay.json.*\nThe configuration of assay serve.*\nThe short answers of assay/,
  );
});

test('the library refuses a Node that is too old when it is imported', async () => {
  const ran = await script(`
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });
    await import('assay').catch(({ message }) => console.log(message));`);
  expect(ran.stdout).toBe('ASSAY_OLD_NODE: the library needs Node 22.19 or later, and this is 20.20.2\n');
});

test('its types need no package but those of Node', async () => {
  writeFileSync(
    within('uses.ts'),
    "import { run } from 'assay';\nexport const code: number = (await run({ command: ['true'] })).exitCode;\n",
  );
  const types = join(PROJECT, 'node_modules/@types');
  symlinkSync(types, within('node_modules/@types'));
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext'];
  const check = ['--types', 'node', '--skipLibCheck', 'false', 'uses.ts'];
  const ran = await run(
    process.execPath,
    join(PROJECT, 'node_modules/typescript/bin/tsc'),
    ...options,
    ...check,
  );
  rmSync(within('node_modules/@types'));
  expect(ran).toMatchObject({ code: 0, stdout: '' });
});

test('a checkout is not packed as it is, and a name that others may own is refused', async () => {
  const packing = await runProcess(['npm', 'pack'], { cwd: PROJECT, env });
  expect(packing.code).not.toBe(0);
  expect(packing.stderr).toContain('npm run package');
  const named = await run(process.execPath, join(PROJECT, 'scripts/package.ts'), 'assay');
  expect(named.code).toBe(1);
  expect(named.stderr).toContain('needs a scope of yours');
});

async function addressOf({ stdout, stderr }: ChildProcess): Promise<string> {
  let said = '';
  for (const stream of [stdout, stderr]) stream?.on('data', (bytes: Buffer) => (said += bytes));
  for (;;) {
    const [address] = /http:\/\/[0-9.:]+/.exec(said) ?? [];
    if (address !== undefined) return address;
    await Promise.race([stdout, stderr].map((stream) => stream && once(stream, 'data')));
  }
}
