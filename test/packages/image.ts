// Runs the container image by crun, as an engine would: as a user that the image does not know, with a read-only root,
// no capability, a limit of memory, and the server as process 1. The limit is set here, because crun refuses
// machines where versions 1 and 2 of cgroups are mixed.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ANY_USER = 23456;
const MEMORY_BYTES = 256 << 20;

/** More than the container may have in memory. */
const LARGE_BYTES = 400 << 20;

interface Descriptor {
  readonly digest: string;
}

/** `folder` is empty. */
export async function tryImage(archive: string, folder: string): Promise<void> {
  const entrypoint = unpack(archive, folder);
  const data = join(folder, 'data');
  mkdirSync(data);
  chmodSync(data, 0o777);
  const command = [...entrypoint, 'serve', '--port', '0', '--store', '/var/lib/assay'];
  writeFileSync(join(folder, 'config.json'), JSON.stringify(containerOf(command, data)));
  const name = `assay-trial-${process.pid}`;
  const pidFile = join(folder, 'pid');
  using group = new MemoryGroup(name, MEMORY_BYTES);
  const crun = ['crun', '--cgroup-manager=disabled', 'run', '--pid-file', pidFile, '--bundle', folder, name];
  const [program, ...args] = group.wrap(crun);
  const container = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(container, 'exit');
  try {
    const url = await addressOf(container);
    assert.equal((await fetch(`${url}/status`)).status, 200);
    const body = Buffer.alloc(LARGE_BYTES);
    const blob = `${url}/cas/${createHash('sha256').update(body).digest('hex')}`;
    assert.equal((await fetch(blob, { method: 'PUT', body })).ok, true);
    const pid = Number(readFileSync(pidFile, 'utf8'));
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    assert.match(status, /^NSpid:\t\d+\t1$/m);
    assert.match(status, new RegExp(`^Uid:\\t${ANY_USER}\\t`, 'm'));
    assert.match(status, /^CapEff:\t0+$/m);
    assert.equal(group.holds(pid), true);
    process.kill(pid, 'SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  } finally {
    container.kill('SIGKILL');
    await ended;
  }
}

/** A cgroup with a limit of memory, of version 1 or 2. */
class MemoryGroup {
  readonly #folder: string;

  constructor(name: string, bytes: number) {
    const isVersion2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
    this.#folder = join('/sys/fs/cgroup', isVersion2 ? '' : 'memory', name);
    mkdirSync(this.#folder);
    writeFileSync(join(this.#folder, isVersion2 ? 'memory.max' : 'memory.limit_in_bytes'), String(bytes));
  }

  [Symbol.dispose](): void {
    rmdirSync(this.#folder);
  }

  /** A command that runs in it, with all that it starts, and does not see that both versions are there. */
  wrap(command: readonly string[]): [string, ...string[]] {
    const script = `
      echo $$ > "$1/cgroup.procs"
      if [ -d /sys/fs/cgroup/unified ]; then umount /sys/fs/cgroup/unified; fi
      shift
      exec "$@"`;
    return ['unshare', '--mount', 'sh', '-euc', script, 'sh', this.#folder, ...command];
  }

  holds(pid: number): boolean {
    return readFileSync(join(this.#folder, 'cgroup.procs'), 'utf8').split('\n').includes(String(pid));
  }
}

/** Returns the command of the image. Its digests are compared. */
function unpack(archive: string, folder: string): readonly string[] {
  const layout = join(folder, 'layout');
  const root = join(folder, 'rootfs');
  for (const made of [layout, root]) mkdirSync(made);
  execFileSync('tar', ['--extract', `--file=${archive}`, `--directory=${layout}`]);
  const blob = ({ digest }: Descriptor) => {
    const file = join(layout, 'blobs', digest.replace(':', '/'));
    const bytes = readFileSync(file);
    assert.equal(digest, `sha256:${createHash('sha256').update(bytes).digest('hex')}`);
    return { file, bytes };
  };
  const json = (one: Descriptor) => JSON.parse(blob(one).bytes.toString());
  const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'));
  const manifest = json(index.manifests[0]);
  for (const layer of manifest.layers)
    execFileSync('tar', ['--extract', '--gzip', `--file=${blob(layer).file}`, `--directory=${root}`]);
  return json(manifest.config).config.Entrypoint;
}

/** https://github.com/opencontainers/runtime-spec. It has this machine's network. */
function containerOf(args: readonly string[], data: string) {
  return {
    ociVersion: '1.0.0',
    process: {
      user: { uid: ANY_USER, gid: ANY_USER },
      args,
      env: ['PATH=/usr/bin'],
      cwd: '/',
      noNewPrivileges: true,
    },
    root: { path: 'rootfs', readonly: true },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
      { destination: '/var/lib/assay', type: 'bind', source: data, options: ['rbind', 'rw'] },
    ],
    linux: {
      namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })),
    },
  };
}

async function addressOf({ stdout }: ChildProcess): Promise<string> {
  let said = '';
  for await (const bytes of stdout ?? []) {
    said += bytes;
    const [address] = /http:\/\/[0-9.:]+/.exec(said) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error(`the server in the container did not start: ${said}`);
}
