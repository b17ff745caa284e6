// Reads an action from the store: the messages that its key is the digest of.
import { type Digest, type Hash, parseDigest, parseHash } from '../../core/digest.ts';
import { Action, Command } from '../../core/proto/generated/reapi.ts';
import { readBlob } from '../shared/read-blob.ts';
import type { BlobReader } from '../store.ts';

interface StoredAction {
  readonly command: Command;
  readonly platform: ReadonlyMap<string, string>;
  readonly inputRoot: Digest;
  readonly keyVersion: string;
}

/** Throws if the store no longer has it. */
export async function readAction(key: Hash, blobs: BlobReader): Promise<StoredAction> {
  const action = Action.decode(await readBlob(key, blobs));
  const command = Command.decode(await readBlob(parseHash(action.commandDigest?.hash ?? ''), blobs));
  return {
    command,
    platform: new Map((action.platform?.properties ?? []).map(({ name, value }) => [name, value])),
    inputRoot: parseDigest(action.inputRootDigest ?? { hash: '', sizeBytes: 0 }),
    keyVersion: Buffer.from(action.salt).toString('utf8'),
  };
}
