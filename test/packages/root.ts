// A bare Debian system in a folder. Commands in it see nothing of this checkout and no network but their own loopback.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const APT_SOURCES = '/etc/apt/sources.list.d';

/** What the packages depend on. A person's apt would install it with them. */
const DEPENDENCIES = ['adduser', 'init-system-helpers', 'libatomic1', 'libstdc++6'];

/** Only root can make a room of its own for a command. */
const ROOM = ['--mount', '--net', '--pid', '--fork'];

const ENTER = `
  ip link set lo up
  mount -t proc proc "$1/proc"
  mount -t tmpfs tmpfs "$1/tmp" && mount -t tmpfs tmpfs "$1/dev" -o mode=755
  for device in null zero urandom; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
  exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -euc "$2"`;

export class Root {
  readonly folder: string;

  /** Packages come from where this machine's apt gets them. */
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'assay-root-'));
    const release = readFileSync('/etc/os-release', 'utf8');
    const suite = /^VERSION_CODENAME=(\S+)$/m.exec(release)?.[1] ?? 'stable';
    const sources = readdirSync(APT_SOURCES).filter((name) => /\.(sources|list)$/.test(name));
    execFileSync(
      'mmdebstrap',
      [
        ...['--quiet', '--mode=root', '--variant=essential', `--include=${DEPENDENCIES.join(',')}`],
        ...[suite, this.folder, ...sources.map((name) => join(APT_SOURCES, name))],
      ],
      { stdio: ['ignore', 2, 2] },
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Returns what it printed. Throws if it fails. */
  run(script: string): string {
    const args = [...ROOM, 'sh', '-euc', ENTER, 'sh', this.folder, script];
    const { status, stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`it ended with ${status}: ${script}\n${stdout}\n${stderr}`);
    return `${stdout}${stderr}`;
  }

  /** Returns the path inside. */
  bring(file: string): string {
    const inside = `/var/cache/${basename(file)}`;
    copyFileSync(file, join(this.folder, inside));
    return inside;
  }

  /** All paths but those that dpkg and the kernel write, and those that a restart of a machine removes. */
  paths(): Set<string> {
    const all = readdirSync(this.folder, { recursive: true, encoding: 'utf8' });
    return new Set(
      all.filter((path) => !/^(proc|tmp|dev|run|var\/cache|var\/lib\/dpkg|var\/log)(\/|$)/.test(path)),
    );
  }
}
