// Makes a stored result stale: its bytes in the store are changed by hand, as no run would.
import { digestOf, toWire } from '../../../core/digest.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../../core/result.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { Store } from '../../../store/store.ts';

/** Gives the output file `path` of each stored result that has it another content. Returns how many there were. */
export function falsifyOutput(directory: string, path: string, content: string): Promise<number> {
  return changeResults(directory, async (result, { blobs }) => {
    const file = result.outputFiles.find((one) => one.path === path);
    if (!file) return false;
    file.digest = toWire(await blobs.put({}, Buffer.from(content)));
    return true;
  });
}

/** Gives each stored result that printed this another exit code. */
export function falsifyExit(directory: string, printed: string, exitCode: number): Promise<number> {
  return changeResults(directory, async (result) => {
    const isMeant = Buffer.from(result.stdoutRaw).includes(printed);
    if (isMeant) result.exitCode = exitCode;
    return isMeant;
  });
}

/** The outputs of all stored results, by path; the rivals apart. For comparing before and after. */
export async function storedResults(directory: string): Promise<{ served: string[]; rivals: string[] }> {
  const store = await openDiskStore({ directory });
  try {
    const found = { served: [] as string[], rivals: [] as string[] };
    for await (const { address, result, isRival } of store.review?.results() ?? [])
      found[isRival ? 'rivals' : 'served'].push(`${address.key} ${digestOf(result.bytes).hash}`);
    return { served: found.served.sort(), rivals: found.rivals.sort() };
  } finally {
    await store.close();
  }
}

async function changeResults(
  directory: string,
  change: (result: ActionResult, store: Store) => Promise<boolean>,
): Promise<number> {
  const store = await openDiskStore({ directory });
  let changed = 0;
  try {
    for (const { address, result: stored } of await Array.fromAsync(store.review?.results() ?? [])) {
      const result = decodeResult(stored.bytes);
      if (!(await change(result, store))) continue;
      await store.results.update(address, () => ActionResult.encode(result).finish());
      changed++;
    }
    return changed;
  } finally {
    await store.close();
  }
}
