// Tries the programs of a kind of machine: the version, a run and its hit without a tracer, and a server that keeps a
// blob. Those of another kind run under qemu-user. ptrace does not work there, so their tracer is only known to be the
// right kind of file.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOwn, type Kind } from './kinds.ts';
import { copyBundle, type Parts } from './parts.ts';
import { PROJECT } from './places.ts';

const RUN_MS = 120_000;

/** qemu-user 7.2 crashes now and then in programs with many threads. A program of this machine has one attempt. */
const EMULATED_ATTEMPTS = 5;

export async function tryParts(parts: Parts): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-trial-'));
  try {
    const runner = runnerFor(parts.kind, folder);
    // Alone: a helper of another kind of machine could not be started.
    const executable = join(folder, 'assay');
    copyFileSync(join(parts.programs, 'assay'), executable);
    tryClient([...runner, executable], folder, isOwn(parts.kind) ? 1 : EMULATED_ATTEMPTS);
    copyBundle(join(folder, 'node'), parts.addon);
    await tryServer(
      [...runner, join(parts.node, 'bin/node'), join(folder, 'node/main.cjs')],
      folder,
      parts.kind,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What stands before a command so that this machine can run it. */
function runnerFor(kind: Kind, folder: string): readonly string[] {
  if (isOwn(kind)) return [];
  const qemu = `/usr/bin/qemu-${kind.triplet.replace(/-.*/, '')}-static`;
  if (!existsSync(qemu)) throw new Error(`${qemu} is missing: install qemu-user-static`);
  const preload = join(folder, 'small-maps.so');
  const source = join(import.meta.dirname, 'small-maps.c');
  execFileSync(`${kind.triplet}-gcc`, ['-O2', '-shared', '-fPIC', '-o', preload, source]);
  const root = `/usr/${kind.triplet}`;
  const variables = [`LD_LIBRARY_PATH=${root}/lib`, `LD_PRELOAD=${preload}`, 'BUN_JSC_useJIT=0'];
  return [qemu, '-L', root, ...variables.flatMap((variable) => ['-E', variable])];
}

const environment = (folder: string) => ({ PATH: '/usr/bin:/bin', HOME: folder });

function tryClient(assay: readonly string[], folder: string, attempts: number): void {
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  const run = (...args: readonly string[]) => {
    const [file = '', ...rest] = [...assay, ...args];
    const options = { cwd: workspace, env: environment(folder), encoding: 'utf8', timeout: RUN_MS } as const;
    for (let left = attempts; ; left--) {
      const { status, stdout, stderr } = spawnSync(file, rest, options);
      if (status !== null || left === 1) return `${stdout}${stderr}(${status})`;
    }
  };
  expect('--version', run('--version'), `assay ${PROJECT.version}\n(0)`);
  const step = ['run', '--hermetic=off', '--store', join(folder, 'store'), '--output', 'made', '--'];
  // An attempt that crashed may have stored the result, or restored the output, already.
  expect('the first run', run(...step, 'touch', 'made'), attempts === 1 ? 'assay: miss' : 'assay: ');
  const made = join(workspace, 'made');
  rmSync(made);
  expect('the second run', run(...step, 'touch', 'made'), 'assay: hit (local');
  if (!existsSync(made)) throw new Error('the second run restored nothing');
}

/** qemu-user 7.2 crashes when Node ends, after the server has said that it stopped. */
async function tryServer(
  [file = '', ...command]: readonly string[],
  folder: string,
  kind: Kind,
): Promise<void> {
  const args = [...command, 'serve', '--port', '0', '--store', join(folder, 'served')];
  const server = spawn(file, args, { env: environment(folder), stdio: ['ignore', 'pipe', 'pipe'] });
  const deadline = setTimeout(() => server.kill('SIGKILL'), RUN_MS);
  const ended = once(server, 'close');
  const said: string[] = [];
  try {
    const blob = `${await addressOf(server, said)}/cas/${createHash('sha256').update('tried').digest('hex')}`;
    await fetch(blob, { method: 'PUT', body: 'tried' });
    expect('the server', await (await fetch(blob)).text(), 'tried');
    server.kill();
    await ended;
  } finally {
    server.kill('SIGKILL');
    clearTimeout(deadline);
  }
  expect('the end of the server', said.join(''), '"msg":"stopped"');
  if (isOwn(kind)) expect('the end of the server', `${server.exitCode}`, '0');
}

/** `said` gets all that the server prints: it would fail to write to a closed pipe. */
function addressOf(server: ChildProcess, said: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const hear = (text: string) => {
      said.push(text);
      const [address] = /http:\/\/[0-9.:]+/.exec(said.join('')) ?? [];
      if (address !== undefined) resolve(address);
    };
    for (const stream of [server.stdout, server.stderr]) stream?.setEncoding('utf8').on('data', hear);
    server.on('close', () => reject(new Error(`the server did not start: ${said.join('')}`)));
  });
}

function expect(what: string, said: string, wanted: string): void {
  if (!said.includes(wanted)) throw new Error(`${what} said ${JSON.stringify(said)} and not ${wanted}`);
}
