// The results that were made here without any remote, one JSON line each, oldest first: all that `assay push --all` may
// send, and what the first run with a new remote sends along.
//
// Guaranteed: a result that was taken from a remote, or made while one was named, is never listed, and neither is one of
// a CI job: the store of a runner may hold what a pull request made. A listed result is sent only while the store has
// those very bytes under its key. Results that were stored before this list existed are in none.
import { statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { digestOf, type Hash, isHash } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import type { Store } from '../../store/store.ts';
import { replaceFile } from '../../system/files/replace-file.ts';
import { REMOTE } from '../limits.ts';
import { makeClientFolder, PRIVATE_FILE } from './client-folder.ts';
import { isUnshared, madeHereFile, metRemoteFile, type Outbox, type UnsharedResult } from './outbox.ts';
import { appendPrivate, readPrivate } from './private-file.ts';

export interface MadeResult extends UnsharedResult {
  /** The digest of the result: another one may lie under its key by now. */
  readonly result: Hash;
  readonly workspace: string;
  /** A step of a graph, not a single command. */
  readonly isStep: boolean;
}

export class MadeHere {
  readonly #file: string;
  readonly #storeFolder: string;

  constructor(storeFolder: string) {
    this.#storeFolder = storeFolder;
    this.#file = madeHereFile(storeFolder);
  }

  /** A list that cannot be written only means that a later server gets less. */
  add(made: MadeResult): void {
    try {
      makeClientFolder(dirname(this.#file));
      appendPrivate(this.#file, `${JSON.stringify(made)}\n`);
      if (statSync(this.#file).size > REMOTE.madeHereBytes) this.#shorten();
    } catch {
      // The result is kept all the same.
    }
  }

  /**
   * Puts those that the store still has into the outbox of a remote, at most `most` of them, the newest first. Returns their
   * keys. Uploads send what lies in an outbox (../run/uploads.ts).
   */
  async offer(
    { results }: Pick<Store, 'results'>,
    outbox: Outbox,
    wanted: (made: MadeResult) => boolean,
    most = Number.POSITIVE_INFINITY,
  ): Promise<Hash[]> {
    const listed = new Map(
      this.#all()
        .filter(wanted)
        .map((made) => [made.key.hash, made]),
    );
    const offered: Hash[] = [];
    for (const { result, workspace: _, isStep: __, ...unshared } of [...listed.values()].reverse()) {
      if (offered.length >= most) break;
      const stored = await results.get({ namespace: DEFAULT_NAMESPACE, key: unshared.key.hash });
      if (!stored || digestOf(stored.bytes).hash !== result) continue;
      outbox.add(unshared);
      offered.push(unshared.key.hash);
    }
    return offered;
  }

  /** The next run with this remote sends nothing along. */
  noteSent(remote: URL): void {
    const mark = metRemoteFile(this.#storeFolder, remote);
    try {
      makeClientFolder(dirname(mark));
      writeFileSync(mark, '', PRIVATE_FILE);
    } catch {
      // The next run sends its hits along once more.
    }
  }

  #all(): MadeResult[] {
    try {
      return readPrivate(this.#file).toString().split('\n').flatMap(parsed);
    } catch {
      return [];
    }
  }

  #shorten(): void {
    const all = this.#all();
    const kept = all.slice(Math.ceil(all.length / 2)).map((made) => `${JSON.stringify(made)}\n`);
    replaceFile(this.#file, kept.join(''), PRIVATE_FILE.mode);
  }
}

/** A torn line is skipped. */
function parsed(line: string): MadeResult[] {
  try {
    const made: unknown = JSON.parse(line);
    return isMade(made) ? [made] : [];
  } catch {
    return [];
  }
}

function isMade(note: unknown): note is MadeResult {
  if (!isUnshared(note)) return false;
  const { result, workspace, isStep } = note as UnsharedResult & Record<string, unknown>;
  const isResult = typeof result === 'string' && isHash(result);
  return isResult && typeof workspace === 'string' && typeof isStep === 'boolean';
}
