// Failures that this machine alone keeps (--cache-failures=local): a note for each action and its facts, in the client
// folder. A note names a result that lies in the local store as a blob.
// Guarantee: the result is under no key, so no other run, remote, server or bundle finds it. A note is taken for at most
// FAILURES.keptMs, and one that is torn or whose blobs are gone is a miss.
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Hash, isHash } from '../../core/digest.ts';
import { replaceFile } from '../../system/files/replace-file.ts';
import { FAILURES } from '../limits.ts';
import { clientFolder, makeClientFolder, PRIVATE_FILE } from './client-folder.ts';
import { readPrivate } from './private-file.ts';

interface KeptFailure {
  /** The blob with the ActionResult. */
  readonly result: Hash;
  /** When the command ended. */
  readonly at: number;
}

export class KeptFailures {
  readonly #folder: string;

  constructor(storeFolder: string) {
    this.#folder = join(clientFolder(storeFolder), 'failures');
  }

  /** `address`: the key under which a success would be stored. A newer failure replaces an older one. */
  keep(address: Hash, failure: KeptFailure): void {
    makeClientFolder(this.#folder);
    this.#removeOld(failure.at);
    replaceFile(join(this.#folder, address), JSON.stringify(failure), PRIVATE_FILE.mode);
  }

  find(address: Hash, now: number): KeptFailure | undefined {
    try {
      const note: unknown = JSON.parse(readPrivate(join(this.#folder, address)).toString());
      return isKept(note) && note.at <= now && now - note.at <= FAILURES.keptMs ? note : undefined;
    } catch {
      return undefined;
    }
  }

  #removeOld(now: number): void {
    const names = readdirSync(this.#folder);
    for (const name of names) {
      const file = join(this.#folder, name);
      const at = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now;
      if (now - at > FAILURES.keptMs || names.length > FAILURES.most) rmSync(file, { force: true });
    }
  }
}

function isKept(note: unknown): note is KeptFailure {
  if (typeof note !== 'object' || note === null) return false;
  const { result, at } = note as Record<string, unknown>;
  return typeof result === 'string' && isHash(result) && Number.isSafeInteger(at);
}
