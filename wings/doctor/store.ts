// Checks the local store: its permissions, a write and a read, its disk, and what the last verify found.
import { accessSync, constants, existsSync, lstatSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { bytesText, counted } from '../../client/view/words.ts';
import { digestOf } from '../../core/digest.ts';
import { STORE } from '../../store/limits.ts';
import { openDiskStore } from '../../store/open.ts';
import { ScrubJournal } from '../../store/scrub/journal.ts';
import { type DoctorFinding, ill, illBecause, notice, well } from './finding.ts';
import { DOCTOR } from './limits.ts';

const OTHERS_WRITE = 0o002;
const PROBE = Buffer.from('what assay doctor puts into a store to see whether it comes back\n');

export async function checkStore(folder: string): Promise<DoctorFinding[]> {
  if (!existsSync(folder)) {
    const isLink = lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return [isLink ? await works(folder) : beginnable(folder), disk(existingAbove(folder))];
  }
  return [rights(folder), await works(folder), disk(folder), lastVerify(folder)];
}

function beginnable(folder: string): DoctorFinding {
  const above = existingAbove(folder);
  try {
    accessSync(above, constants.W_OK | constants.X_OK);
    return well('store', `${folder} does not exist yet; the first run creates it`);
  } catch {
    return ill(
      'store',
      `${folder} does not exist, and ${above} is not writable`,
      'Set ASSAY_STORE to a folder that you can write to.',
    );
  }
}

function existingAbove(folder: string): string {
  return existsSync(folder) ? folder : existingAbove(dirname(folder));
}

function rights(folder: string): DoctorFinding {
  const { uid, mode } = statSync(folder);
  const own = process.getuid?.();
  if ((mode & OTHERS_WRITE) !== 0) {
    return ill('rights', `every user of this machine can write to ${folder}`, `chmod o-w ${folder}`);
  }
  if (own !== undefined && uid !== own) {
    return notice(
      'rights',
      `${folder} belongs to user ${uid}, and you are ${own}`,
      'Use a store of your own, or share one with `assay serve`.',
    );
  }
  return well('rights', `${folder} is yours, and only you can write to it`);
}

async function works(folder: string): Promise<DoctorFinding> {
  try {
    const store = await openDiskStore({ directory: folder });
    try {
      const digest = await store.blobs.put(digestOf(PROBE), PROBE);
      const back = await store.blobs.get(digest.hash);
      if (back?.bytes?.equals(PROBE))
        return well('store', `${folder} opens, and returns what is written to it`);
      return ill(
        'store',
        'the content that was written did not come back',
        'Run `assay verify`, and check the disk.',
      );
    } finally {
      await store.close();
    }
  } catch (error) {
    return illBecause(
      'store',
      error,
      'Check the permissions of its folder, or set ASSAY_STORE to another one.',
    );
  }
}

function disk(folder: string): DoctorFinding {
  const { bavail, bsize, blocks, files, ffree } = statfsSync(folder);
  const free = bavail * bsize;
  const text = `${bytesText(free)} of ${bytesText(blocks * bsize)} free under ${folder}`;
  const mend = 'Free space on that disk, or set ASSAY_STORE to a folder on another one.';
  if (free < STORE.minFreeBytes || (files > 0 && ffree === 0)) return ill('disk', `full: ${text}`, mend);
  return free < DOCTOR.roomyBytes ? notice('disk', text, mend) : well('disk', text);
}

function lastVerify(folder: string): DoctorFinding {
  const last = new ScrubJournal(folder, Date.now).read();
  if (!last) return well('verify', 'never run; `assay verify` checks the whole store');
  const when = new Date(last.finishedAt ?? last.startedAt).toISOString();
  if (last.finishedAt === undefined) {
    return notice('verify', `started ${when} and not finished`, '`assay verify` continues where it stopped.');
  }
  const text = `${counted(last.blobs, 'blob')} checked ${when}, ${last.damaged} damaged`;
  return last.damaged === 0
    ? well('verify', text)
    : notice(
        'verify',
        text,
        'They are no longer served. If this repeats, check the disk and the memory of this machine.',
      );
}
