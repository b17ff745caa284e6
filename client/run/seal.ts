// Seals an execution: turns its outputs and log into a result, or says why the result must not be published.
// The inputs, the tools and the observed paths of a sealed result did not change while the command ran.
//
// Reasons not to publish: the command failed, its inputs changed while it ran, an output is missing or leaves
// the workspace, the log is incomplete, nothing can prove the result (acceptance.ts), or --hermetic=strict
// found an undeclared access.
import { type Hash, toWire } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import {
  type Evidence,
  type EvidenceStatus,
  encodeEvidence,
  evidenceStatusOf,
  lacksProof,
  WATCHING_OFF,
} from '../../core/evidence.ts';
import { encodeReceipt, type Receipt, type RunOrigin, receiptOf } from '../../core/metadata/receipt.ts';
import type { RelPath } from '../../core/path.ts';
import type { PathSet } from '../../core/path-set.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import type { FindingKind } from '../../hermeticity/verdict/finding.ts';
import type { RunRequest } from '../action/request.ts';
import { ContentCache } from '../files/content-cache.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { RUN } from '../limits.ts';
import { type Contents, encodeOutputs, fitOutput, type Sealed } from '../outputs/encoded-outputs.ts';
import type { Output } from '../outputs/outputs.ts';
import { States } from '../path-sets/states.ts';
import { triesText } from '../retry/retry.ts';
import { isOfSignal } from '../retry/tries.ts';
import { buildEvidence, evidenceOfUnwatched, type RunEvidence } from '../trace/evidence.ts';
import { keepRefusal, whyLocal } from './acceptance.ts';
import type { RunContext } from './context.ts';
import type { Execution } from './execute.ts';
import { changedSince } from './key.ts';
import { encodeOrder } from './log-order.ts';
import { type StoredLog, withoutWorkspace } from './log-workspace.ts';
import { originOf } from './run-origin.ts';
import { shownLock } from './shown-locks.ts';

export interface SealedResult {
  readonly publishable: true;
  readonly status: EvidenceStatus;
  /** A failure that only this machine keeps: the result has no outputs, and is stored under no key. */
  readonly isKeptFailure?: true;
  /** Why it must not be shared, if so. */
  readonly localOnly?: string;
  readonly result: Uint8Array;
  readonly contents: readonly Sealed[];
  /** What the result tells of its run. */
  readonly made: Receipt;
  readonly outputs: readonly Output[];
  /** The observed paths, if the action was watched. */
  readonly pathSet?: PathSet;
  /** What this machine is like after the command, as `pathSet` has it. */
  readonly states: States;
}

export interface Unpublishable {
  readonly publishable: false;
  readonly status: EvidenceStatus;
  readonly why: string;
}

export function seal(
  action: KeyedAction,
  execution: Execution,
  context: RunContext,
): SealedResult | Unpublishable {
  const { request } = action;
  const { digests } = context.cache;
  const failure = failureOf(request, execution);
  if (failure !== undefined) return { publishable: false, status: 'unwatched', why: failure };
  const states = new States(action, digests);
  let evidence: RunEvidence;
  try {
    evidence = evidenceOf(action, execution, states);
  } catch (error) {
    // A directory that it listed may be gone or unreadable by now. That must not fail the command.
    return {
      publishable: false,
      status: 'unwatched',
      why: `what it read can't be judged: ${whyOf(error)}`,
    };
  }
  const watched = evidenceStatusOf(evidence.evidence);
  const status = execution.earlierState !== undefined && watched === 'declared' ? 'unproven' : watched;
  reportFindings(evidence, execution, context);
  try {
    const isKeptFailure = execution.exitCode !== 0 && request.cacheFailures === 'local';
    const why =
      (isKeptFailure && lacksProof(status)
        ? `it ended with ${execution.exitCode}, and is ${status}`
        : undefined) ??
      refusalOf(request, evidence, status) ??
      stateRefusal(execution) ??
      changedSince(action, context) ??
      keepRefusal(evidence.evidence, request);
    if (why !== undefined) return { publishable: false, status, why };
    const search = evidence.outputSearch();
    const kept = new ContentCache();
    const reading = kept.wrap(search?.wrap(digests) ?? digests);
    const outputs = (isKeptFailure ? [] : request.outputs).map(
      (path) => fitOutput(request.workspace, path, reading) ?? failMissing(path),
    );
    const shown = shownLock(request, execution, outputs);
    if (shown !== undefined) return { publishable: false, status, why: shown };
    const pathSet = evidence.pathSet(search?.found(outputs));
    const localOnly = whyLocal(evidence.evidence, request);
    return {
      ...encode(action, execution, outputs, kept, {
        evidence: evidence.evidence,
        origin: {
          ...originOf(action, context.caller),
          ...(execution.tries && { tries: execution.tries.exitCodes.length }),
        },
      }),
      outputs,
      states,
      status,
      ...(isKeptFailure && { isKeptFailure }),
      ...(localOnly !== undefined && { localOnly }),
      ...(pathSet && { pathSet }),
    };
  } catch (error) {
    return { publishable: false, status, why: whyOf(error) };
  }
}

function evidenceOf(
  action: KeyedAction,
  { watched, unwatched, attempt }: Execution,
  states: States,
): RunEvidence {
  if (watched) return buildEvidence(action, watched, states);
  return evidenceOfUnwatched(action, unwatched ?? askedFor(action.request), attempt, states);
}

/** A result that the run also keeps as an unproven one is for every run that takes those. */
function askedFor({ keepUnproven }: RunRequest): string {
  return keepUnproven === 'no' ? WATCHING_OFF : `${WATCHING_OFF} --keep-unproven=${keepUnproven}`;
}

function whyOf(error: unknown): string {
  return error instanceof AssayError ? error.detail : messageOf(error);
}

/**
 * A command that started with earlier state may read the outputs of that state. For an unwatched run the events
 * already say that no tracer ran.
 */
function reportFindings(
  { findings, evidence }: RunEvidence,
  { earlierState, watched }: Execution,
  { report }: RunContext,
): void {
  const shown = findings.filter(({ kind }) => kind !== 'stale-output' || earlierState === undefined);
  const gaps = watched ? evidence.gaps : [];
  if (shown.length > 0 || gaps.length > 0) report({ type: 'findings', findings: shown, gaps });
}

function failureOf(
  { cacheFailures }: RunRequest,
  { exitCode, signal, statusFault, logFault, outputFault, tries }: Execution,
): string | undefined {
  if (signal) return `it was ended by ${signal}`;
  if (exitCode !== 0 && !cacheFailures) return `it ended with ${exitCode}`;
  if (exitCode !== 0 && tries && tries.verdict !== 'broken') return triesText(tries);
  if (exitCode !== 0 && cacheFailures === 'local' && isOfSignal(exitCode))
    return `it ended with ${exitCode}, as after a signal or a timeout`;
  return statusFault ?? outputFault ?? logFault;
}

/**
 * A removed file was an input whose content is no longer known. With observed inputs the path set is the
 * whole declaration: it must be complete, and the action must not change what it reads.
 */
function refusalOf(request: RunRequest, evidence: RunEvidence, status: EvidenceStatus): string | undefined {
  if (request.hermetic === 'strict' && status !== 'declared') return 'it is not hermetic';
  const removal = evidence.findings.find(({ kind }) => kind === 'delete');
  if (removal) return `it removes ${removal.path}, which a hit would not`;
  const peek = evidence.findings.find(({ kind, path = '' }) => kind === 'host' && OTHERS_SECRETS.test(path));
  if (peek) return `it read the environment of another process, which may hold secrets: ${peek.path}`;
  const byTime = evidence.timeRefusal();
  if (byTime !== undefined) return byTime;
  if (!request.observed) return undefined;
  const [gap] = evidence.evidence.gaps;
  if (gap !== undefined) return `not all that it read is known: ${gap}`;
  const change = evidence.findings.find(({ kind }) => CHANGES.has(kind));
  return change && `it changes what it may read the next time: ${change.path}`;
}

/** The state of an earlier run may have influenced the outputs, and it is in no key. */
function stateRefusal({ earlierState }: Execution): string | undefined {
  return earlierState && `it was made with ${earlierState}, and only what a clean run makes is kept`;
}

/** A process's own files are no finding. */
const OTHERS_SECRETS = /^\/proc\/\d+\/(?:task\/\d+\/)?(?:environ|mem)$/;

const CHANGES: ReadonlySet<FindingKind> = new Set([
  'write',
  'delete',
  'mutate',
  'stale-output',
  'symlink-escape',
]);

function encode(
  { request, key }: KeyedAction,
  execution: Execution,
  outputs: readonly Output[],
  kept: ContentCache,
  metadata: Omit<ResultMetadata, 'action'>,
): Pick<SealedResult, 'publishable' | 'result' | 'contents' | 'made'> {
  const { result, contents } = encodeOutputs(outputs, request.workspace, request.workingDirectory, kept);
  result.exitCode = execution.exitCode;
  const log = withoutWorkspace(execution.log, request.workspace);
  addLog(result, log, contents);
  addMetadata(result, execution, { ...metadata, action: key.hash, log });
  return {
    publishable: true,
    result: ActionResult.encode(result).finish(),
    contents: contents.values(),
    made: receiptOf(result),
  };
}

function failMissing(path: RelPath): never {
  throw new AssayError('ASSAY_OUTPUT_UNFIT', `its declared output ${path} is missing`);
}

/** Short logs are inlined in the result, long ones are blobs. */
function addLog(result: ActionResult, { stdout, stderr }: StoredLog, contents: Contents): void {
  if (stdout.length <= RUN.inlineLogBytes) result.stdoutRaw = stdout;
  else result.stdoutDigest = toWire(contents.addBytes(stdout));
  if (stderr.length <= RUN.inlineLogBytes) result.stderrRaw = stderr;
  else result.stderrDigest = toWire(contents.addBytes(stderr));
}

/** What the result tells of its run. */
interface ResultMetadata {
  readonly action: Hash;
  readonly evidence: Evidence;
  readonly origin: RunOrigin;
}

function addMetadata(
  result: ActionResult,
  execution: Execution,
  { action, evidence, origin, log }: ResultMetadata & { readonly log: StoredLog },
): void {
  result.executionMetadata = {
    worker: origin.where ?? '',
    executionStartTimestamp: timestamp(execution.startedAt),
    executionCompletedTimestamp: timestamp(execution.startedAt + execution.commandMs),
    auxiliaryMetadata: [encodeOrder(log), encodeEvidence(evidence), encodeReceipt(action, origin)],
  };
}

function timestamp(milliseconds: number): { seconds: number; nanos: number } {
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds, nanos: Math.round((milliseconds - seconds * 1000) * 1e6) };
}
