// Temporary folders named `assay-PURPOSE-OWNER-XXXXXX`, each owned by one process. A killed process leaves
// its folders behind. The next process removes them when it creates its first folder.
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AssayError, messageOf } from '../../core/errors.ts';
import { identityText, livenessOf, ownIdentity, parseIdentity } from '../process/process-identity.ts';
import { holdsMount } from './mounts.ts';
import { removeTree } from './remove-tree.ts';

const NAME = /^assay-[a-z]+-(\d+-\d+-\d+)-\w{6}$/;
/** Of the part of the name that mkdtemp chooses. */
const SUFFIX_LENGTH = 6;

/** Parent folders that this process has already swept. */
const swept = new Set<string>();

/**
 * `purpose`: one word for people who list the folder. TMPDIR may name a folder that is missing, full or not
 * writable, so several folders are tried.
 */
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

let renamed = 0;

/** Gives a folder of this process another name, which no folder had before. Throws if it cannot. */
export function renameTemporaryFolder(folder: string): string {
  const suffix = (renamed++).toString(36).padStart(SUFFIX_LENGTH, '0');
  const fresh = `${folder.slice(0, -SUFFIX_LENGTH)}${suffix}`;
  renameSync(folder, fresh);
  return fresh;
}

/** On some file systems a folder can be created although no byte can be written. */
function requireSpace(folder: string): void {
  const probe = join(folder, 'probe');
  try {
    writeFileSync(probe, 'x');
    unlinkSync(probe);
  } catch (error) {
    removeTemporaryFolder(folder);
    throw error;
  }
}

/**
 * Leaves the folder in place if it cannot be removed: a command may have left files that even their owner
 * cannot remove.
 */
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
    return []; // some folders are writable but not readable
  }
}

/** Anybody can create a folder with such a name. A folder of another container may still be in use. */
function isAbandoned(folder: string, owner: string): boolean {
  const identity = parseIdentity(owner);
  if (!identity || livenessOf(identity) !== 'ended') return false;
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid?.();
}
