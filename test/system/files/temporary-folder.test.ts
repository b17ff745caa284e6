import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const MODULE = join(import.meta.dirname, '../../../system/files/temporary-folder.ts');
const IDENTITY = join(import.meta.dirname, '../../../system/process/process-identity.ts');
const NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];
/** Runs as another user, since root may remove read-only folders. */
const NOT_ROOT = process.getuid?.() === 0 ? NOBODY : [];

let around: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  around = mkdtempSync(join(tmpdir(), 'assay-test-'));
  chmodSync(around, 0o777);
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(around, { recursive: true, force: true });
});

/** A process that makes a folder, prints its path, and runs until it is killed. */
async function owner(
  wrapper: readonly string[] = [],
): Promise<{ readonly child: ChildProcess; readonly folder: string }> {
  const script = `import { temporaryFolder } from '${MODULE}'; console.log(temporaryFolder('test')); setInterval(() => {}, 1000);`;
  const [program = '', ...args] = [...wrapper, process.execPath, '--input-type=module', '-e', script];
  const child = spawn(program, args, {
    env: { TMPDIR: around, PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [said]: string[] = await once(child.stdout.setEncoding('utf8'), 'data');
  return { child, folder: (said ?? '').trim() };
}

async function killedOwner(wrapper: readonly string[] = []): Promise<string> {
  const { child, folder } = await owner(wrapper);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  expect(existsSync(folder)).toBe(true);
  return folder;
}

/** Runs a process that also makes a folder, and so cleans up. */
function makeAnother(wrapper: readonly string[] = []): void {
  const script = `import { temporaryFolder } from '${MODULE}'; temporaryFolder('test');`;
  const [program = '', ...args] = [...wrapper, process.execPath, '--input-type=module', '-e', script];
  const { status, stderr } = spawnSync(program, args, { env: { TMPDIR: around, PATH: process.env.PATH } });
  expect(status, String(stderr)).toBe(0);
}

test('temporaryFolder removes the folder of a killed process, read-only ones too, and keeps that of a living one', async () => {
  const living = await owner(NOT_ROOT);
  const left = await killedOwner(NOT_ROOT);
  mkdirSync(join(left, 'closed', 'deep'), { recursive: true });
  writeFileSync(join(left, 'closed', 'deep', 'file'), 'x');
  const { uid, gid } = statSync(left);
  for (const path of ['closed/deep/file', 'closed/deep', 'closed']) lchownSync(join(left, path), uid, gid);
  for (const folder of ['closed/deep', 'closed', '.']) chmodSync(join(left, folder), 0o500);
  makeAnother(NOT_ROOT);
  expect(existsSync(left)).toBe(false);
  expect(existsSync(living.folder)).toBe(true);
});

test('temporaryFolder keeps the folder of a process in another container', async () => {
  const elsewhere = join(around, `assay-test-1-${process.pid}-1-abcdef`);
  mkdirSync(elsewhere);
  makeAnother();
  expect(existsSync(elsewhere)).toBe(true);
});

test('temporaryFolder does not follow a link with the name of an abandoned folder', async () => {
  const left = await killedOwner();
  const victim = join(around, 'victim');
  mkdirSync(victim);
  writeFileSync(join(victim, 'file'), 'x');
  rmSync(left, { recursive: true });
  symlinkSync(victim, left);
  makeAnother();
  expect(existsSync(join(victim, 'file'))).toBe(true);
});

test('temporaryFolder keeps another user’s folder', async () => {
  const left = await killedOwner(NOBODY);
  makeAnother();
  expect(existsSync(left)).toBe(true);
});

test('temporaryFolder keeps a folder that contains a mount', async () => {
  const left = await killedOwner();
  const victim = join(around, 'victim');
  mkdirSync(victim);
  mkdirSync(join(left, 'mounted'));
  writeFileSync(join(victim, 'file'), 'x');
  const mount = `mount --bind '${victim}' '${join(left, 'mounted')}' && exec "$@"`;
  makeAnother(['unshare', '-rm', 'sh', '-c', mount, 'sh']);
  expect(existsSync(join(victim, 'file'))).toBe(true);
  expect(existsSync(left)).toBe(true);
});

test('without /proc, an invisible process does not count as ended', () => {
  const script = `import { livenessOf, ownIdentity } from '${IDENTITY}'; console.log(livenessOf(ownIdentity()));`;
  const room = ['--dev-bind', '/', '/', '--tmpfs', '/proc'];
  const ran = spawnSync('bwrap', [...room, process.execPath, '--input-type=module', '-e', script]);
  expect(String(ran.stdout).trim(), String(ran.stderr)).toBe('unknown');
});

test('the name of a temporary folder identifies its process', async () => {
  const { child, folder } = await owner();
  expect(basename(folder)).toMatch(new RegExp(`^assay-test-\\d+-${child.pid}-\\d+-\\w{6}$`));
});
