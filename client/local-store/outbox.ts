// The outbox: the results of the local store that a remote does not have yet, one note file for each.
// A run writes the note before the upload begins and removes it after the upload, so a killed run leaves its
// notes. Each sender has an outbox of its own (outbox-sender.ts).
//
// A noted result is not evicted for REMOTE.unsharedMs: every process that may evict renews its lease first. A
// note that cannot be written or read means that this result is not shared; nothing else fails.
import { existsSync, readdirSync, rmdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Digest, digestOf, type Hash, isHash } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import type { Store } from '../../store/store.ts';
import { replaceFile } from '../../system/files/replace-file.ts';
import { REMOTE } from '../limits.ts';
import { clientFolder, makeClientFolder, PRIVATE_FILE } from './client-folder.ts';
import { clientSender } from './outbox-sender.ts';
import { readPrivate } from './private-file.ts';

export interface UnsharedResult {
  /** The key of the result. */
  readonly key: Digest;
  /** The key of the action. */
  readonly action: Hash;
  /** The path set that leads from the action's key to the result's. */
  readonly set?: Hash | undefined;
  /** Blobs to upload that the result does not name: the action's messages and the path set. */
  readonly blobs: readonly Digest[];
}

/**
 * Not the type of store/open.ts: the library's declarations include this file and must not include LMDB's.
 */
interface BoundedStore extends Pick<Store, 'results' | 'blobs'> {
  readonly space: { readonly limit: number };
}

export class Outbox {
  readonly #folder: string;

  constructor(storeFolder: string, remote: URL, token: string | undefined) {
    const owner = remote.href + clientSender(token);
    this.#folder = join(outboxFolder(storeFolder), digestOf(Buffer.from(owner)).hash.slice(0, 32));
  }

  /** A cheap check that opens no store. */
  get exists(): boolean {
    return existsSync(this.#folder);
  }

  add(unshared: UnsharedResult): void {
    const file = join(this.#folder, unshared.key.hash);
    // Two attempts: another run may just have removed the empty folder.
    for (let attempt = 1; attempt <= 2; attempt++) {
      const isNoted = quietly(() => {
        makeClientFolder(this.#folder);
        replaceFile(file, JSON.stringify(unshared), PRIVATE_FILE.mode);
      });
      if (isNoted) return;
    }
  }

  remove(key: Hash): void {
    quietly(() => rmSync(join(this.#folder, key), { force: true }));
    quietly(() => rmSync(this.#triedFile, { force: true }));
    // These fail while notes are left.
    quietly(() => rmdirSync(this.#folder));
    quietly(() => rmdirSync(join(this.#folder, '..')));
  }

  has(key: Hash): boolean {
    return existsSync(join(this.#folder, key));
  }

  /** Oldest first. */
  entries(): UnsharedResult[] {
    return notesIn(this.#folder);
  }

  /** Whether a recent attempt to share failed and took long. */
  wasTriedRecently(now: number): boolean {
    const at = statSync(this.#triedFile, { throwIfNoEntry: false })?.mtimeMs;
    return at !== undefined && Math.abs(now - at) < REMOTE.retryMs;
  }

  noteTry(): void {
    quietly(() => writeFileSync(this.#triedFile, '', PRIVATE_FILE));
  }

  get #triedFile(): string {
    return join(this.#folder, 'tried');
  }
}

/**
 * Whether a run whose actions are all up to date may have something to send: what lies in an outbox, or what was made
 * here before this remote was named (made-here.ts). A cheap check that opens no store.
 */
export function maySend(storeFolder: string, remote: URL, token: string | undefined): boolean {
  const isOwed = hasOutbox(storeFolder) && new Outbox(storeFolder, remote, token).exists;
  return isOwed || (!isCiJob() && isNewRemote(storeFolder, remote));
}

export function madeHereFile(storeFolder: string): string {
  return join(clientFolder(storeFolder), 'made-here.jsonl');
}

/** Marks a remote to which a run has sent its hits along. */
export function metRemoteFile(storeFolder: string, remote: URL): string {
  return join(clientFolder(storeFolder), 'met-remotes', digestOf(Buffer.from(remote.href)).hash.slice(0, 32));
}

/** There are results that were made without a remote, and no run has sent this one any. */
export function isNewRemote(storeFolder: string, remote: URL): boolean {
  return existsSync(madeHereFile(storeFolder)) && !existsSync(metRemoteFile(storeFolder, remote));
}

/** How CI systems say that a job runs. */
const CI_VARIABLES = ['CI', 'BUILD_NUMBER', 'GITHUB_ACTIONS', 'JENKINS_URL', 'TEAMCITY_VERSION', 'TF_BUILD'];

export function isCiJob(): boolean {
  return CI_VARIABLES.some((name) => !['', '0', 'false', undefined].includes(process.env[name]));
}

/** Whether any result is unshared, with any remote. A cheap check that opens no store. */
export function hasOutbox(storeFolder: string): boolean {
  return existsSync(outboxFolder(storeFolder));
}

/**
 * Renews the leases of unshared results of all remotes, the newest first, and deletes notes that are too old.
 * The leases cover only a share of the store's size: a remote that is down for days must leave space for new
 * results.
 * The mtime of the outbox folder is the time of the last renewal.
 */
export async function leaseUnshared(storeFolder: string, store: BoundedStore, now: number): Promise<void> {
  const folder = outboxFolder(storeFolder);
  const leasedAt = statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
  if (leasedAt === undefined || Math.abs(now - leasedAt) < REMOTE.leaseUnsharedMs) return;
  let left = store.space.limit * REMOTE.unsharedShare;
  for (const remote of listed(folder)) {
    const notes = join(folder, remote);
    removeOld(notes, now);
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

function removeOld(folder: string, now: number): void {
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
    const note: unknown = JSON.parse(readPrivate(file).toString());
    return isUnshared(note) ? note : undefined;
  } catch {
    return undefined;
  }
}

export function isUnshared(note: unknown): note is UnsharedResult {
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

/** False if it failed. The result stays in the local store in either case. */
function quietly(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
