// What an error of PostgreSQL means: for one statement, or for the connection.
// Only an error about the connection makes a node look for another one.
import { AssayError, messageOf } from '../../../../core/errors.ts';

/** A deadlock, or a serialization failure: PostgreSQL asks for a repetition. */
const REPEATABLE: ReadonlySet<string> = new Set(['40P01', '40001']);
/** No such schema, table or column. */
const NOT_MIGRATED: ReadonlySet<string> = new Set(['3F000', '42P01', '42703']);
/** Reads go on, and so do writes that need no new pages. */
const DISK_FULL = '53100';
/**
 * The errors after which another connection is needed: shutdown, no access, a standby, and the like. Of class 53 that
 * is only "too many connections": the others are about the disk and the memory that one statement needs.
 */
const OF_CONNECTION = /^(08|57P|53300|28|3D|25006)/;

interface SqlError {
  readonly code: string;
}

function hasSqlState(error: unknown): error is SqlError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^[0-9A-Z]{5}$/.test(error.code)
  );
}

/** The server has refused this statement, and the connection is usable. */
export function isOfStatement(error: unknown): error is SqlError {
  return hasSqlState(error) && !OF_CONNECTION.test(error.code);
}

export function isRepeatable(error: unknown): boolean {
  return hasSqlState(error) && REPEATABLE.has(error.code);
}

/** What an error of a statement means, if the connection is usable. */
export function faultOfStatement(error: SqlError): AssayError {
  const detail = messageOf(error);
  if (NOT_MIGRATED.has(error.code)) return new AssayError('ASSAY_INDEX_VERSION', detail);
  if (error.code === DISK_FULL) return new AssayError('ASSAY_DISK_FULL', `PostgreSQL: ${detail}`);
  return away(detail);
}

export function away(detail: string): AssayError {
  return new AssayError('ASSAY_INDEX_AWAY', `PostgreSQL: ${detail}`);
}
