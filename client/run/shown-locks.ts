// Tells whether a command packed or printed a lock of Assay (`tar .`, `find .`): such a result is not kept.
// A lock exists only while Assay runs, so a clean copy has none, and its target differs in every run.

import { readFileSync } from 'node:fs';
import { join, type RelPath, toSystemPath } from '../../core/path.ts';
import type { TraceReport } from '../../hermeticity/trace/access.ts';
import { absPath, relativeIn } from '../../system/paths/absolute-path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';
import type { RunRequest } from '../action/request.ts';
import type { Output } from '../outputs/outputs.ts';
import type { Execution } from './execute.ts';

const LOCK = `${ASSAY_FOLDER}/lock`;
const REMEDY = 'leave .assay out (tar --exclude=.assay, find . -name .assay -prune -o …)';
/** A command that runs Assay reads locks through it. */
const ASSAY = /(?:^|\/)assay(?:-start|\.cjs|\.ts)?$/;

/** Why the result is not kept; undefined if it may be. */
export function shownLock(
  { workspace }: Pick<RunRequest, 'workspace'>,
  { watched, log }: Pick<Execution, 'watched' | 'log'>,
  outputs: readonly Output[],
): string | undefined {
  if ([log.stdout, log.stderr].some((said) => said.includes(LOCK)))
    return `it printed a lock of this run: ${REMEDY}`;
  if (watched?.where !== 'machine') return undefined;
  const seen = accessesTo(watched.report, workspace);
  const read = seen.find(({ path, isContent }) => isContent && path.startsWith(LOCK));
  if (read) return `it read ${read.path}, a lock of this run: ${REMEDY}`;
  const isListed = seen.some(({ path, kind }) => kind === 'list' && path === ASSAY_FOLDER);
  const holder = isListed ? filesOf(outputs).find((path) => holdsLock(workspace, path)) : undefined;
  return holder && `its output ${holder} names a lock of this run: ${REMEDY}`;
}

function accessesTo({ accesses, processes }: TraceReport, workspace: string) {
  const root = absPath(workspace);
  return accesses.flatMap((access) => {
    const path = 'path' in access ? relativeIn(root, access.path) : undefined;
    if (path === undefined || (path !== ASSAY_FOLDER && !path.startsWith(`${ASSAY_FOLDER}/`))) return [];
    if (processes[access.process]?.argv.some((word) => ASSAY.test(word))) return [];
    return [{ path, kind: access.kind, isContent: access.kind === 'read' || access.kind === 'followed' }];
  });
}

function filesOf(outputs: readonly Output[]): RelPath[] {
  return outputs.flatMap((output) => {
    if (output.kind !== 'directory') return output.kind === 'file' ? [output.path] : [];
    return output.entries.flatMap(({ kind, path }) => (kind === 'file' ? [join(output.path, path)] : []));
  });
}

function holdsLock(workspace: string, path: RelPath): boolean {
  try {
    return readFileSync(toSystemPath(workspace, path)).includes(LOCK);
  } catch {
    return false;
  }
}
