// Resolves symbolic links in a path, as the file system is now. Used by the strace tracer only. strace
// reports the requested path, not the resolved one, and its line is read later, when the file system may have
// changed. The native tracer resolves links while the command is stopped.
import { lstatSync, readlinkSync } from 'node:fs';

const MOST_LINKS = 40;
const SLASH = '/';

/** A path as a latin1 string: one character per byte, so every name survives. */
export type BytePath = string;

export interface ResolvedLinks {
  readonly path: BytePath;
  /** The links that were followed. */
  readonly links: readonly BytePath[];
}

type Kind = 'folder' | 'link' | 'other' | 'absent';

export class LinkResolver {
  readonly #folders = new Set<BytePath>();

  /** Call this when the command created, moved or removed something that may be part of a cached path. */
  forget(): void {
    this.#folders.clear();
  }

  kindOf(path: BytePath): Kind {
    if (this.#folders.has(path)) return 'folder';
    try {
      const status = lstatSync(toBuffer(path));
      if (status.isSymbolicLink()) return 'link';
      if (!status.isDirectory()) return 'other';
      this.#folders.add(path);
      return 'folder';
    } catch {
      return 'absent';
    }
  }

  resolve(base: BytePath, raw: BytePath, follow: boolean): ResolvedLinks {
    const links: BytePath[] = [];
    const rest = raw.split(SLASH);
    const folderWanted = rest.at(-1) === '';
    let at = raw.startsWith(SLASH) ? '' : trimRoot(base);
    let missing = false;
    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      if (name === '' || name === '.') continue;
      if (name === '..') {
        at = at.slice(0, Math.max(0, at.lastIndexOf(SLASH)));
        continue;
      }
      at += `/${name}`;
      const isEnd = rest.every((part) => part === '') && !folderWanted;
      // /proc/self belongs to the command, not to this process.
      if (missing || (isEnd && !follow) || at.startsWith('/proc/')) continue;
      const kind = this.kindOf(at);
      if (kind === 'absent') missing = true;
      if (kind !== 'link') continue;
      const target = targetOf(at);
      if (target === undefined || links.length >= MOST_LINKS) return { path: at, links };
      links.push(at);
      at = target.startsWith(SLASH) ? '' : at.slice(0, at.lastIndexOf(SLASH));
      rest.unshift(...target.split(SLASH));
    }
    return { path: at === '' ? SLASH : at, links };
  }
}

/** The requested path, made absolute without following links. */
export function absolute(base: BytePath, raw: BytePath): BytePath {
  const parts: string[] = [];
  const whole = raw.startsWith(SLASH) ? raw : `${base}/${raw}`;
  for (const part of whole.split(SLASH)) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join(SLASH)}`;
}

export function toBuffer(path: BytePath): Buffer {
  return Buffer.from(path, 'latin1');
}

function trimRoot(base: BytePath): BytePath {
  return base === SLASH ? '' : base;
}

function targetOf(path: BytePath): string | undefined {
  try {
    return readlinkSync(toBuffer(path), 'latin1');
  } catch {
    return undefined;
  }
}
