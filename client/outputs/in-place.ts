// What the outputs of hits looked like when they were found in place, and all that their results depend on besides the key: for
// the memories that outlive this process (action-state.ts, graph/memory.ts).
//
// Outputs were compared with the result, byte by byte, before they come here, and are trusted afterwards by the same rule
// as inputs are (see inputs/settled.ts).
import type { Hash } from '../../core/digest.ts';
import type { EvidenceStatus } from '../../core/evidence.ts';
import {
  type AbsPath,
  absPath,
  isPlain,
  parentFolder,
  relativeIn,
} from '../../hermeticity/system/absolute-path.ts';
import { isSettled } from '../files/settled.ts';
import { lstatIn } from '../files/stat-recorder.ts';
import { rowOf, type StatRow } from '../files/stat-table.ts';
import { RUN } from '../limits.ts';
import type { IdentifiedAction } from '../run/key.ts';
import type { Log } from '../run/log.ts';
import type { Hit } from '../run/lookup.ts';
import type { Output } from './outputs.ts';

export interface HitRecord {
  readonly log: Log;
  readonly exitCode: number;
  /** How long the command took when it ran. */
  readonly commandMs: number;
  readonly standing: EvidenceStatus;
}

export interface InPlaceCheck {
  readonly hit: HitRecord;
  /** The key that the result lies under, and the digest of the result itself. */
  readonly address: Hash;
  readonly result: Hash;
  readonly outputs: ReadonlyMap<string, StatRow>;
  /** What the result depends on besides the key. */
  readonly rows: ReadonlyMap<string, StatRow>;
}

export class InPlaceChecks {
  readonly #known = new Map<Hash, InPlaceCheck>();

  /** Undefined if it was not found in place, or had not settled. */
  of({ key }: IdentifiedAction): InPlaceCheck | undefined {
    return this.#known.get(key.hash);
  }

  /** `lookedAt`: the clock before the outputs were compared. */
  record(
    { key, request }: IdentifiedAction,
    { log, exitCode, commandMs, standing, address, result, outputs, observedPaths }: Hit,
    lookedAt: number,
  ): void {
    if (log.stdout.length + log.stderr.length > RUN.inlineLogBytes) return;
    const made = new Map<string, StatRow>();
    for (const path of outputs.flatMap(pathsOf)) {
      const stats = lstatIn(request.workspace, path);
      if (!stats || !isSettled(stats, lookedAt)) return;
      made.set(path, rowOf(stats));
    }
    const rows = new Map<string, StatRow>();
    for (const look of observedPaths()) {
      if (!isPlain(look)) return;
      const path = pathToCheck(look, request.workspace);
      const stats = lstatIn(request.workspace, path);
      if (stats && !isSettled(stats, lookedAt)) return;
      rows.set(stats ? nameOf(path, request.workspace) : path, rowOf(stats));
    }
    this.#known.set(key.hash, {
      hit: { log, exitCode, commandMs, standing },
      address,
      result,
      outputs: made,
      rows,
    });
  }
}

/** In the workspace as its own, so that an output that another step looked at is known to be one. */
function nameOf(look: AbsPath, workspace: string): string {
  return relativeIn(absPath(workspace), look) || look;
}

/** What outputs look like just now, settled or not. */
export function outputStats(outputs: readonly Output[], workspace: string): Map<string, StatRow> {
  return new Map(outputs.flatMap(pathsOf).map((path) => [path, rowOf(lstatIn(workspace, path))]));
}

/** A folder's own times change when an entry comes or goes. */
function pathsOf(output: Output): string[] {
  const entries = output.kind === 'directory' ? output.entries : [];
  return [output.path, ...entries.map(({ path }) => `${output.path}/${path}`)];
}

/**
 * Where nothing was, nothing comes without touching the folder: one look for all that a compiler missed there. Only among
 * installed software, where folders seldom change.
 */
function pathToCheck(look: AbsPath, workspace: string): AbsPath {
  return look.startsWith('/usr/') && !lstatIn(workspace, look) ? parentFolder(look) : look;
}
