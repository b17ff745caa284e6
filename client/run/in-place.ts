// In-place checks of one process: the stats of outputs that were found in place, and of the observed paths of
// their results.
// The up-to-date states are written from them (up-to-date/step-state.ts).
//
// Only outputs whose content was compared with the result come here, and only with settled stats
// (files/settled.ts).
import type { Hash } from '../../core/digest.ts';
import type { EvidenceStatus } from '../../core/evidence.ts';
import {
  type AbsPath,
  absPath,
  isAtOrBelow,
  isPlain,
  parentFolder,
  relativeIn,
} from '../../system/paths/absolute-path.ts';
import { allSettled, isSettled } from '../files/settled.ts';
import { lstatIn } from '../files/stat-recorder.ts';
import { isAbsent, rowOf, type StatRow } from '../files/stat-table.ts';
import type { IdentifiedAction } from '../inputs/keyed-action.ts';
import { RUN } from '../limits.ts';
import type { Output } from '../outputs/outputs.ts';
import type { MachineProperty } from '../path-sets/machine.ts';
import type { SystemFileMemo } from '../path-sets/system-file-memo.ts';
import type { Log } from '../process/log.ts';
import type { Hit } from './hit.ts';
import type { HitReceipt } from './receipt.ts';

interface HitRecord {
  readonly log: Log;
  readonly exitCode: number;
  /** The duration of the command when it ran. */
  readonly commandMs: number;
  readonly status: EvidenceStatus;
  /** As a hit that compares stats tells it. */
  readonly receipt?: HitReceipt;
}

export interface InPlaceCheck {
  readonly hit: HitRecord;
  /** The key under which the result is stored, and the digest of the result. */
  readonly address: Hash;
  readonly result: Hash;
  readonly outputs: ReadonlyMap<string, StatRow>;
  /** The stats of the result's observed paths. */
  readonly rows: ReadonlyMap<string, StatRow>;
  readonly properties: readonly MachineProperty[];
}

export class InPlaceChecks {
  readonly #checks = new Map<Hash, InPlaceCheck>();

  /** Undefined if the outputs were not found in place, or their stats were not settled. */
  of({ key }: IdentifiedAction): InPlaceCheck | undefined {
    return this.#checks.get(key.hash);
  }

  /**
   * `checkedAt`: the clock before the outputs were compared. `systemFiles`: has stats of paths outside the
   * workspace; who records these must ask it how old they are.
   */
  record(
    { key, request }: IdentifiedAction,
    { log, exitCode, commandMs, status, receipt, address, result, outputs, setCheck }: Hit,
    checkedAt: number,
    systemFiles?: SystemFileMemo,
  ): void {
    this.#checks.delete(key.hash);
    if (log.stdout.length + log.stderr.length > RUN.inlineLogBytes) return;
    const made = new Map<string, StatRow>();
    for (const path of outputs.flatMap(pathsOf)) {
      const stats = lstatIn(request.workspace, path);
      if (!stats || !isSettled(stats, checkedAt)) return;
      made.set(path, rowOf(stats));
    }
    const rows = new Map<string, StatRow>();
    const check = setCheck();
    if (!check) return;
    const workspace = absPath(request.workspace);
    const rowAt = (path: AbsPath): StatRow => {
      const read = () => rowOf(lstatIn(request.workspace, path));
      return systemFiles && !isAtOrBelow(path, workspace) ? systemFiles.row(path, read) : read();
    };
    for (const observed of check.paths) {
      if (!isPlain(observed)) return;
      const path = pathToCheck(observed, rowAt);
      const row = rowAt(path);
      if (!isAbsent(row) && !allSettled([row], checkedAt)) return;
      rows.set(isAbsent(row) ? path : nameOf(path, workspace), row);
    }
    this.#checks.set(key.hash, {
      hit: {
        log,
        exitCode,
        commandMs,
        status,
        ...(receipt && { receipt: { ...receipt, compared: 'stats' } }),
      },
      address,
      result,
      outputs: made,
      rows,
      properties: check.properties,
    });
  }
}

/** Relative in the workspace, so that a path that another step makes has the same name as its output. */
function nameOf(path: AbsPath, workspace: AbsPath): string {
  return relativeIn(workspace, path) || path;
}

/** The current stats of outputs, settled or not. */
export function outputStats(outputs: readonly Output[], workspace: string): Map<string, StatRow> {
  return new Map(outputs.flatMap(pathsOf).map((path) => [path, rowOf(lstatIn(workspace, path))]));
}

/** Includes the folders: their mtime changes when an entry is added or removed. */
function pathsOf(output: Output): string[] {
  const entries = output.kind === 'directory' ? output.entries : [];
  return [output.path, ...entries.map(({ path }) => `${output.path}/${path}`)];
}

/**
 * For an absent path below /usr, its folder: one lstat for all names that a compiler searched there. The
 * folder's mtime changes when a name appears. Below /usr folders seldom change.
 */
function pathToCheck(path: AbsPath, rowAt: (path: AbsPath) => StatRow): AbsPath {
  return path.startsWith('/usr/') && isAbsent(rowAt(path)) ? parentFolder(path) : path;
}
