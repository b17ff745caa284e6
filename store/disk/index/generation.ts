// Generations: random numbers, a new one for each blob, file or record that is stored (I4 of index.ts).
import { nodeCrypto } from '../../../core/sha256.ts';

const GENERATIONS = 2 ** 47;

export function newGeneration(): number {
  return nodeCrypto().randomInt(1, GENERATIONS);
}

/** A flipped bit can turn a generation into a number that never was one. */
export function isGeneration(number: number): boolean {
  return Number.isSafeInteger(number) && number > 0 && number < GENERATIONS;
}
