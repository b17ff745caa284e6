// The thread that computes BLAKE3, so that large bodies do not hold up the main loop of a server.
// It answers each piece when the piece is hashed, and the end of a body with the hash in hex.
import { parentPort } from 'node:worker_threads';
import { createBLAKE3, type IHasher } from 'hash-wasm';
import type { HashAnswer, HashRequest } from './hashing.ts';

/** A hasher has memory of its own, so those of bodies that have ended are used again. */
const idle: IHasher[] = [];
const running = new Map<number, Promise<IHasher>>();

const answer = (message: HashAnswer): void => parentPort?.postMessage(message);

async function begin(): Promise<IHasher> {
  return (idle.pop() ?? (await createBLAKE3())).init();
}

parentPort?.on('message', ({ id, piece, isDropped }: HashRequest) => {
  const opened = running.get(id) ?? begin();
  if (piece) running.set(id, opened);
  else running.delete(id);
  opened.then(
    (hasher) => {
      if (piece) hasher.update(piece);
      const hash = piece || isDropped ? '' : hasher.digest('hex');
      if (!piece) idle.push(hasher);
      answer({ id, hash });
    },
    (error: unknown) => {
      throw error;
    },
  );
});
