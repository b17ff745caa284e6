// The outbox: results of the local store that a remote does not have yet. A run writes a note, one file for each result,
// before the upload begins. The note is removed when the remote has the result, so a killed run leaves its notes.
//
// A noted result is kept from eviction for REMOTE.unsharedMs: every process that may evict renews its lease first. A note that
// can't be written or read costs the sharing of that result, and nothing else.
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Digest, digestOf, type Hash, isHash } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import type { Store } from '../../store/store.ts';
import { REMOTE } from '../limits.ts';
import { clientFolder, makeClientFolder, PRIVATE_FILE } from './client-folder.ts';

export interface UnsharedResult {
  /** Of the result. */
  readonly key: Digest;
  /** Of the action. */
  readonly action: Hash;
  /** The path set that leads from the one to the other. */
  readonly set?: Hash | undefined;
  /** What goes along with the result and is not named by it: the action's own messages, the path set. */
  readonly blobs: readonly Digest[];
}

/** Not store/open.ts's own type: the library's declarations lead here, and must not lead to LMDB's. */
interface BoundedStore extends Pick<Store, 'results' | 'blobs'> {
  readonly space: { readonly limit: number };
}

export class Outbox {
  readonly #folder: string;

  constructor(storeFolder: string, remote: URL) {
    this.#folder = join(outboxFolder(storeFolder), digestOf(Buffer.from(remote.href)).hash.slice(0, 32));
  }

  add(unshared: UnsharedResult): void {
    const file = join(this.#folder, unshared.key.hash);
    // Twice: another run may just have removed the empty folder.
    for (let attempt = 1; attempt <= 2; attempt++) {
      const isNoted = quietly(() => {
        makeClientFolder(this.#folder);
        writeFileSync(`${file}.${process.pid}`, JSON.stringify(unshared), PRIVATE_FILE);
        renameSync(`${file}.${process.pid}`, file);
      });
      if (isNoted) return;
    }
  }

  remove(key: Hash): void {
    quietly(() => rmSync(join(this.#folder, key), { force: true }));
    quietly(() => rmSync(this.#restFile, { force: true }));
    // As long as something is left, these fail.
    quietly(() => rmdirSync(this.#folder));
    quietly(() => rmdirSync(join(this.#folder, '..')));
  }

  /** Oldest first. */
  entries(): UnsharedResult[] {
    return notesIn(this.#folder);
  }

  /** Whether it was tried a moment ago, in vain, and took long. */
  wasTriedRecently(now: number): boolean {
    const at = statSync(this.#restFile, { throwIfNoEntry: false })?.mtimeMs;
    return at !== undefined && Math.abs(now - at) < REMOTE.retryMs;
  }

  noteTry(): void {
    quietly(() => writeFileSync(this.#restFile, '', PRIVATE_FILE));
  }

  get #restFile(): string {
    return join(this.#folder, 'tried');
  }
}

/** Whether anything is to be shared with anybody: for who has no other use for a remote. */
export function hasOutbox(storeFolder: string): boolean {
  return existsSync(outboxFolder(storeFolder));
}

/**
 * Leases what is still to be shared, for whichever remote, the newest first and no more than a part of what the store may hold: else
 * a remote that is gone for days would leave no room for anything new. Forgets what has been there for too long. When that
 * was done last is the folder's own time.
 */
export async function leaseUnshared(storeFolder: string, store: BoundedStore, now: number): Promise<void> {
  const folder = outboxFolder(storeFolder);
  const leasedAt = statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
  if (leasedAt === undefined || Math.abs(now - leasedAt) < REMOTE.leaseUnsharedMs) return;
  let left = store.space.limit * REMOTE.unsharedShare;
  for (const remote of listed(folder)) {
    const notes = join(folder, remote);
    forgetOld(notes, now);
    for (const { key, blobs } of notesIn(notes).reverse()) {
      if (left <= 0) break;
      const stored = await store.results.get({ namespace: DEFAULT_NAMESPACE, key: key.hash });
      if (!stored) continue;
      await store.blobs.touch(blobs.map(({ hash }) => hash));
      left -= [...stored.references, ...blobs].reduce((sum, { size }) => sum + size, 0);
    }
  }
  quietly(() => utimesSync(folder, now / 1000, now / 1000));
}

function forgetOld(folder: string, now: number): void {
  for (const name of listed(folder)) {
    const file = join(folder, name);
    const at = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (now - at > REMOTE.unsharedMs) quietly(() => rmSync(file, { force: true }));
  }
}

function outboxFolder(storeFolder: string): string {
  return join(clientFolder(storeFolder), 'outbox');
}

function notesIn(folder: string): UnsharedResult[] {
  const files = listed(folder).filter(isHash);
  const dated = files.map((name) => ({
    name,
    at: statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  }));
  return dated.sort((a, b) => a.at - b.at).flatMap(({ name }) => read(join(folder, name)) ?? []);
}

function read(file: string): UnsharedResult | undefined {
  try {
    const note: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isUnshared(note) ? note : undefined;
  } catch {
    return undefined;
  }
}

function isUnshared(note: unknown): note is UnsharedResult {
  if (typeof note !== 'object' || note === null) return false;
  const { key, action, set, blobs } = note as Record<string, unknown>;
  const hashes = [action, set ?? action].every((text) => typeof text === 'string' && isHash(text));
  return isDigest(key) && hashes && Array.isArray(blobs) && blobs.every(isDigest);
}

function isDigest(value: unknown): value is Digest {
  if (typeof value !== 'object' || value === null) return false;
  const { hash, size } = value as Record<string, unknown>;
  return typeof hash === 'string' && isHash(hash) && Number.isSafeInteger(size) && Number(size) >= 0;
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** False if it failed: the result is in the local store all the same. */
function quietly(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
