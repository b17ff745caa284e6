// The file backup.json in the folder of a backup: which backup it is, what is in it, and whether it is finished.
// A rename replaces it after a sync, so whoever reads it sees one whole state.
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { syncNames, writeSynced } from '../../system/files/synced-file.ts';

export const MANIFEST = 'backup.json';

export interface Manifest {
  /** A restore goes on only with the backup that it began with. */
  readonly id: string;
  /** The version of Assay that began it. */
  readonly assay: string;
  /** In ISO 8601. */
  readonly startedAt: string;
  /** Set when everything is copied and was read again. */
  readonly finishedAt?: string;
  readonly hasAuthKey: boolean;
  readonly hasTokens: boolean;
}

/** Undefined if the folder is no backup. */
export function readManifest(folder: string): Manifest | undefined {
  const file = join(folder, MANIFEST);
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isManifest(value)) return value;
  } catch (error) {
    if (isSystemError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new AssayError('ASSAY_NO_BACKUP', `${file} is damaged`);
}

export function writeManifest(folder: string, manifest: Manifest): void {
  writeDurably(folder, MANIFEST, `${JSON.stringify(manifest)}\n`);
}

/** What a kill may leave. */
export function temporaryOf(name: string): string {
  return `${name}.tmp`;
}

/** Replaces the file. It is on the disk under its name when this returns. */
export function writeDurably(folder: string, name: string, content: string | Uint8Array): void {
  const file = join(folder, name);
  const temporary = join(folder, temporaryOf(name));
  rmSync(temporary, { force: true });
  writeSynced(temporary, content);
  renameSync(temporary, file);
  syncNames(folder);
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== 'object' || value === null) return false;
  const fields: Partial<Record<keyof Manifest, unknown>> = value;
  return (
    [fields.id, fields.assay, fields.startedAt].every((field) => typeof field === 'string') &&
    [fields.hasAuthKey, fields.hasTokens].every((field) => typeof field === 'boolean') &&
    (fields.finishedAt === undefined || typeof fields.finishedAt === 'string')
  );
}
