// Runs a command again that failed (--retry), and tells a flaky command from a broken one.
//
// Guarantees: each try starts as the first one did: its outputs are set aside, and the scratch folders are empty. A result has
// the facts, the log and the outputs of its own try alone. After a signal, a timeout or an interrupt nothing is run
// again.
//
//   flaky    all tries had the same facts, and they ended with different exit codes
//   broken   all tries had the same facts and ended with the same exit code
//   changed  a later try read something else than the one before: nothing is known of the command
//
// Not guaranteed: of a run that nobody watched, the declared inputs and the tools alone are compared.
import { messageOf } from '../../core/errors.ts';
import type { Tries } from '../../core/metadata/run-report.ts';
import type { ObservedPath, PathSet } from '../../core/path-set.ts';
import type { FileDigests } from '../files/file-digest.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { FAILURES } from '../limits.ts';
import { States } from '../path-sets/states.ts';
import { type CommandEnd, onStop } from '../process/launch.ts';
import type { Report } from '../terminal/events.ts';
import { buildEvidence } from '../trace/evidence.ts';
import type { MaybeWatched } from '../trace/watch.ts';

interface Tried {
  readonly action: KeyedAction;
  readonly retries: number;
  readonly digests: FileDigests;
  readonly report: Report;
  /** Ends the command. */
  readonly signal?: AbortSignal | undefined;
  /** Why the inputs or tools may differ from those in the key; undefined if nothing touched them. */
  changedSince(): string | undefined;
  /** Throws if the run was cancelled. */
  throwIfCancelled?(): void;
  /** Forgets what holds only while no command runs. */
  forget(): void;
}

/** Resolves to the last try. It has `tries` if the command was run more than once. */
export async function executeTries<T extends CommandEnd & MaybeWatched>(
  execute: () => Promise<T>,
  tried: Tried,
): Promise<T & { readonly tries?: Tries }> {
  const { retries, report } = tried;
  let isStopped = false;
  const release = onStop(tried.signal, () => {
    isStopped = true;
  });
  try {
    let execution = await execute();
    const exitCodes = [execution.exitCode];
    let changed: string | undefined;
    while (execution.exitCode !== 0 && exitCodes.length <= retries && changed === undefined) {
      if (isStopped) return execution;
      const refusal = refusalOf(execution, tried);
      if (refusal !== undefined) {
        report({ type: 'not-retried', why: refusal });
        break;
      }
      const before = factsOf(execution, tried);
      const { exitCode } = execution;
      report({ type: 'retried', exitCode, attempt: exitCodes.length + 1, of: retries + 1 });
      tried.forget();
      execution = await execute();
      if (isStopped || isEnded(execution)) return execution;
      exitCodes.push(execution.exitCode);
      changed = difference(before, factsOf(execution, tried));
    }
    if (exitCodes.length === 1) return execution;
    const isOne = exitCodes.every((code) => code === exitCodes[0]);
    const verdict = changed === undefined ? (isOne ? 'broken' : 'flaky') : 'changed';
    return { ...execution, tries: { exitCodes, verdict, ...(changed !== undefined && { changed }) } };
  } finally {
    release();
  }
}

/** Why the command is not run again; undefined if it may be. */
function refusalOf(end: CommandEnd, tried: Tried): string | undefined {
  if (isEnded(end)) return `it ended with ${end.exitCode}, as after a signal or a timeout`;
  if (tried.action.request.checkpoint)
    return 'a step with checkpoints goes on from the last one, so no try is like the first';
  const changed = tried.changedSince();
  if (changed !== undefined) return changed;
  try {
    tried.throwIfCancelled?.();
  } catch (error) {
    return messageOf(error);
  }
  return undefined;
}

function isEnded({ signal, exitCode }: CommandEnd): boolean {
  return signal !== undefined || isOfSignal(exitCode);
}

/** An exit code by which shells and `timeout` tell of a signal or a time limit. */
export function isOfSignal(exitCode: number): boolean {
  return exitCode === FAILURES.timeout || exitCode >= FAILURES.leastSignal;
}

/** What a try found, and what it wrote beyond its outputs. */
interface TryFacts {
  readonly set: PathSet;
  readonly wrote: ReadonlySet<string>;
}

/** A text: why they are not known. Call it before the next try. */
function factsOf({ watched }: MaybeWatched, { action, digests }: Tried): TryFacts | string {
  if (!watched) return { set: [], wrote: new Set() };
  try {
    const evidence = buildEvidence(action, watched, new States(action, digests));
    const wrote = evidence.findings.flatMap(({ kind, path }) =>
      path !== undefined && WRITES.has(kind) ? [path] : [],
    );
    return { set: evidence.pathSet() ?? [], wrote: new Set(wrote) };
  } catch (error) {
    return messageOf(error);
  }
}

const WRITES: ReadonlySet<string> = new Set(['write', 'mutate', 'delete']);

/**
 * What the later try read that was not as before; undefined if nothing. Of a path that a try wrote, its path set has the
 * state afterwards, so such a path counts as changed.
 */
function difference(before: TryFacts | string, later: TryFacts | string): string | undefined {
  if (typeof before === 'string') return before;
  if (typeof later === 'string') return later;
  const states = new Map(before.set.map((fact) => [nameOf(fact), fact.state]));
  const other = later.set.find(
    (fact) => before.wrote.has(shownPath(fact)) || (states.get(nameOf(fact)) ?? fact.state) !== fact.state,
  );
  return other && `${shownPath(other)} had changed`;
}

function nameOf({ root, path, names, lens }: ObservedPath): string {
  return [root, path, names, lens].join('\0');
}

/** As findings show it. */
function shownPath({ root, path }: ObservedPath): string {
  return root === '' ? `/${path}` : path;
}
