// The paths that a watched graph runs again for: inputs of its steps, what their last runs looked at, and the configuration. Not
// what steps make, what they were seen to write beyond that, and what this process writes itself.
import { fstatSync, lstatSync, type Stats } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { isWithin, parseRelPath, type RelPath } from '../../core/path.ts';
import type { Step } from '../config/step.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { IgnoredPaths } from '../inputs/ignored-paths.ts';
import { DECLARATIONS, isOutput, StepReach, type Surroundings } from './step-reach.ts';

export interface Round extends Surroundings {
  /** The steps that ran, or were found in place. */
  readonly order: readonly Step[];
  /** What they were seen to write that is no output, and when the last of them had ended. */
  readonly strayWrites: ReadonlySet<string>;
  readonly endedAt: number;
  /** Files that this process writes: a summary. */
  readonly own: readonly string[];
}

export class WatchedPaths {
  readonly #round: Round;
  readonly #reaches: readonly StepReach[];
  /** Folders of steps of whose inputs nothing is known yet. */
  readonly #unseen: readonly RelPath[];
  readonly #ignored: IgnoredPaths;
  /** What does not count: a log that grows asks again and again. */
  readonly #dismissed = new Set<string>();

  constructor(round: Round) {
    this.#round = round;
    this.#reaches = round.order.map((step) => new StepReach(step, round));
    this.#ignored = new IgnoredPaths(new StatRecorder(round.root));
    this.#unseen = round.order.flatMap(({ id, observed, folder }) =>
      observed && !round.seen.has(id) ? [folder] : [],
    );
  }

  has(name: string): boolean {
    if (this.#dismissed.has(name)) return false;
    const path = parseRelPath(name);
    const stats = lstatSync(join(this.#round.root, name), { throwIfNoEntry: false });
    if (this.#isOfRound(path, stats)) return false;
    const counts = !this.#isOwn(name, stats) && this.#counts(path, stats);
    if (!counts) this.#dismissed.add(name);
    return counts;
  }

  #counts(path: RelPath, stats: Stats | undefined): boolean {
    if (isOutput(path, this.#round.steps)) return false;
    if (DECLARATIONS.includes(basename(path))) return true;
    const isFolder = stats?.isDirectory() ?? false;
    if (this.#unseen.some((folder) => isWithin(path, folder)) && !this.#ignored.hides(path, isFolder))
      return true;
    return this.#reaches.some(
      (reach) =>
        (!isFolder && reach.reaches({ path, isRepository: false })) ||
        ((isFolder || !stats) && reach.reachesFolder(path)),
    );
  }

  /** Written by a step of this round, and by nobody since. */
  #isOfRound(path: RelPath, stats: Stats | undefined): boolean {
    const { strayWrites, endedAt } = this.#round;
    return strayWrites.has(path) && (!stats || stats.mtimeMs <= endedAt);
  }

  /** What standard output and error go to may be a file in the workspace. */
  #isOwn(name: string, stats: Stats | undefined): boolean {
    const { root, own } = this.#round;
    if (own.some((file) => resolve(file) === join(root, name))) return true;
    return [1, 2].some((descriptor) => {
      const { dev, ino } = fstatSync(descriptor);
      return stats?.dev === dev && stats.ino === ino;
    });
  }
}
