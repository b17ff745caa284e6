// The paths whose change starts another round of --watch: inputs, paths that the last runs accessed,
// configuration. Outputs, stray writes of steps, and files that this process writes do not count.
import { fstatSync, lstatSync, type Stats } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { isWithin, parseRelPath, type RelPath } from '../../core/path.ts';
import type { Step } from '../config/step.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { IgnoredPaths } from '../inputs/ignored-paths.ts';
import { DECLARATIONS, isOutput, type ReachContext, StepReach } from './step-reach.ts';

interface Round extends ReachContext {
  /** The steps of the round. */
  readonly order: readonly Step[];
  /** Paths that commands wrote and that are no outputs, and when the last command had ended. */
  readonly strayWrites: ReadonlySet<string>;
  readonly endedAt: number;
  /** Files that this process writes, such as the summary. */
  readonly own: readonly string[];
}

export class WatchedPaths {
  readonly #round: Round;
  readonly #reaches: readonly StepReach[];
  /** Folders of steps whose inputs are not known yet. */
  readonly #unseen: readonly RelPath[];
  readonly #ignored: IgnoredPaths;
  /** Paths that do not count. Kept, because a growing log changes again and again. */
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

  /** Written by a step of this round and not changed since. */
  #isOfRound(path: RelPath, stats: Stats | undefined): boolean {
    const { strayWrites, endedAt } = this.#round;
    return strayWrites.has(path) && (!stats || stats.mtimeMs <= endedAt);
  }

  /** Standard output and error may be redirected to a file in the workspace. */
  #isOwn(name: string, stats: Stats | undefined): boolean {
    const { root, own } = this.#round;
    if (own.some((file) => resolve(file) === join(root, name))) return true;
    return [1, 2].some((descriptor) => {
      const { dev, ino } = fstatSync(descriptor);
      return stats?.dev === dev && stats.ino === ino;
    });
  }
}
