// A number that is drawn anew each time something is stored, so that what is meant for one thing never hits a newer one.
import { nodeCrypto } from '../../../core/sha256.ts';

const GENERATIONS = 2 ** 47;

export function newGeneration(): number {
  return nodeCrypto().randomInt(1, GENERATIONS);
}

/** What a flipped bit makes of one need not be a number that ever was one. */
export function isGeneration(number: number): boolean {
  return Number.isSafeInteger(number) && number > 0 && number < GENERATIONS;
}
