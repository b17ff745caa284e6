// Finds by halving which of many changes alter a result, in far fewer trials than there are changes.

/**
 * `isAltered` tries some of the changes together. All of `changes` together are known to alter the result. Gives back those that
 * do so alone; nothing, if it takes several at once.
 */
export async function bisect<T>(
  changes: readonly T[],
  isAltered: (some: readonly T[]) => Promise<boolean>,
): Promise<T[]> {
  if (changes.length === 1) return (await isAltered(changes)) ? [...changes] : [];
  const middle = Math.ceil(changes.length / 2);
  const [first, second] = [changes.slice(0, middle), changes.slice(middle)];
  const inFirst = first.length === 1 || (await isAltered(first)) ? await bisect(first, isAltered) : [];
  // What the first half does not explain, the second one must.
  const worthAsking = inFirst.length === 0 || second.length === 1 || (await isAltered(second));
  return [...inFirst, ...(worthAsking ? await bisect(second, isAltered) : [])];
}
