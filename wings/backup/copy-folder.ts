// Copies the store in one folder to another, and tells the progress. One pass has everything that both commands promise
// (M2 of copy.ts).
import type { Telling } from '../../core/cli/progress.ts';
import { type Copied, copyStore } from '../../store/migration/copy.ts';
import { openDiskStore } from '../../store/open.ts';
import { loadChecksum } from '../../store/shared/checksum.ts';
import type { ResultAddress } from '../../store/store.ts';
import { copyText } from './texts.ts';

export async function copyFolder(
  name: string,
  fromFolder: string,
  toFolder: string,
  telling: Telling,
  leavesOut: (address: ResultAddress) => boolean,
): Promise<Copied> {
  await loadChecksum();
  const from = await openDiskStore({ directory: fromFolder });
  try {
    const to = await openDiskStore({ directory: toFolder });
    try {
      return await copyStore({
        from: from.engine,
        to: to.engine,
        passes: 1,
        leavesOut,
        onProgress: (progress) => telling.progress(progress, () => copyText(name, progress)),
        async onPage() {
          await from.trim();
          await to.trim();
        },
      });
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}
