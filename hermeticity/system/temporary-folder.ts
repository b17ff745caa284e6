// A folder among the temporary files that is one process's own, `assay-PURPOSE-OWNER-XXXXXX`. A process that is killed leaves
// its folders behind, with whatever a command has put there; the first one that a later process makes takes those away.
import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AssayError, messageOf } from '../../core/errors.ts';
import { holdsMount } from './mounts.ts';
import { identityText, livenessOf, ownIdentity, parseIdentity } from './process-identity.ts';
import { removeTree } from './remove-tree.ts';

const NAME = /^assay-[a-z]+-(\d+-\d+-\d+)-\w{6}$/;

/** Folders in which this process has looked for what others left. */
const swept = new Set<string>();

/** `purpose`: one word, for who looks at the names there. TMPDIR may name a folder that is not there, full, or not ours to write in. */
export function temporaryFolder(purpose: string): string {
  const reasons: string[] = [];
  const { XDG_RUNTIME_DIR = '/tmp' } = process.env;
  for (const place of new Set([tmpdir(), '/tmp', '/var/tmp', '/dev/shm', XDG_RUNTIME_DIR])) {
    try {
      const around = realpathSync(place);
      const made = mkdtempSync(join(around, `assay-${purpose}-${identityText(ownIdentity())}-`));
      requireSpace(made);
      sweepOnce(around);
      return made;
    } catch (error) {
      reasons.push(messageOf(error));
    }
  }
  throw new AssayError('ASSAY_NO_TEMPORARY_FOLDER', reasons.join('; '));
}

/** A folder can be made on some file systems on which not a byte can be written. */
function requireSpace(folder: string): void {
  const probe = join(folder, 'probe');
  try {
    writeFileSync(probe, 'x');
    rmSync(probe);
  } catch (error) {
    removeTemporaryFolder(folder);
    throw error;
  }
}

/** What can't be taken away stays: a command may have left something there that even its owner can't remove. */
export function removeTemporaryFolder(folder: string): void {
  try {
    if (!holdsMount(folder)) removeTree(folder);
  } catch {
    // The next process tries again.
  }
}

function sweepOnce(around: string): void {
  if (swept.has(around)) return;
  swept.add(around);
  for (const name of namesIn(around)) {
    const owner = NAME.exec(name)?.[1];
    if (owner === undefined) continue;
    const folder = join(around, name);
    if (isAbandoned(folder, owner)) removeTemporaryFolder(folder);
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // one may write in some folders that one may not look into
  }
}

/** Anybody may give a folder such a name, and one of another container can't be judged: it may still be in use. */
function isAbandoned(folder: string, owner: string): boolean {
  const identity = parseIdentity(owner);
  if (!identity || livenessOf(identity) !== 'ended') return false;
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid?.();
}
