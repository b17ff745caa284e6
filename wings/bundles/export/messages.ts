// The messages that the key of an action is computed from: its Action, its Command, and the folders of its inputs. A miss on
// another machine is compared with them.
// Guarantee: a message that is gone, damaged or large ends nothing. A folder that was visited already is not read again.
import { type Digest, type Hash, isHash } from '../../../core/digest.ts';
import { Action, Directory } from '../../../core/proto/generated/reapi.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { Blobs } from '../../../store/store.ts';
import { BUNDLE } from '../limits.ts';

export class ActionMessages {
  readonly #blobs: Blobs;
  #visited = new Set<Hash>();

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  /** Those of an action that no earlier action had. After very many, some come a second time. */
  async *of(action: Hash): AsyncGenerator<Digest> {
    const found = await this.#read(action);
    if (!found) return;
    yield found.digest;
    const { commandDigest, inputRootDigest } = decoded(() => Action.decode(found.bytes)) ?? {};
    const command = await this.#read(commandDigest?.hash);
    if (command) yield command.digest;
    const folders = [inputRootDigest?.hash];
    while (folders.length > 0) {
      const folder = await this.#read(folders.pop());
      if (!folder) continue;
      yield folder.digest;
      const { directories = [] } = decoded(() => Directory.decode(folder.bytes)) ?? {};
      for (const { digest } of directories) folders.push(digest?.hash);
    }
  }

  async #read(hash: string | undefined): Promise<{ digest: Digest; bytes: Buffer } | undefined> {
    if (hash === undefined || !isHash(hash) || this.#visited.has(hash)) return undefined;
    if (this.#visited.size >= BUNDLE.rememberedMessages) this.#visited = new Set();
    this.#visited.add(hash);
    try {
      const size = (await this.#blobs.get(hash))?.size ?? 0;
      if (size === 0 || size > BUNDLE.maxMessageBytes) return undefined;
      return { digest: { hash, size }, bytes: await readBlob(hash, this.#blobs) };
    } catch {
      return undefined;
    }
  }
}

function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}
