// Finds by bisection which of many changes alter a result, with far fewer trials than changes.

/**
 * `isAltered` tries some of the changes together. All of `changes` together must alter the result. Returns
 * the changes that alter it alone; none, if it takes several at once.
 */
export async function bisect<T>(
  changes: readonly T[],
  isAltered: (some: readonly T[]) => Promise<boolean>,
): Promise<T[]> {
  if (changes.length === 1) return (await isAltered(changes)) ? [...changes] : [];
  const middle = Math.ceil(changes.length / 2);
  const [first, second] = [changes.slice(0, middle), changes.slice(middle)];
  const inFirst = first.length === 1 || (await isAltered(first)) ? await bisect(first, isAltered) : [];
  // If the first half explains nothing, the second half must.
  const worthAsking = inFirst.length === 0 || second.length === 1 || (await isAltered(second));
  return [...inFirst, ...(worthAsking ? await bisect(second, isAltered) : [])];
}
