// Turns what a command left behind into a result that others may trust, or says why it must not be shared: it failed,
// its inputs changed while it ran, an output is missing or leaves the workspace, its log is not whole, it was to be
// hermetic and is not.
import { type Digest, digestOf, EMPTY, type Hash, toWire } from '../core/digest.ts';
import { AssayError, messageOf } from '../core/errors.ts';
import { type Evidence, encodeEvidence, type Standing, standingOf } from '../core/evidence.ts';
import { RUN } from '../core/limits.ts';
import { join, type RelPath, relativeTo, toSystemPath } from '../core/path.ts';
import type { PathSet } from '../core/path-set.ts';
import { ActionResult } from '../core/proto/generated/reapi.ts';
import { emptyResult } from '../core/result.ts';
import { encodeTree } from '../core/tree.ts';
import type { FindingKind } from '../hermeticity/finding.ts';
import type { RunContext } from './context.ts';
import type { Execution } from './execute.ts';
import type { FileDigests } from './inputs/file-digest.ts';
import { changedSince, type KeyedAction } from './key.ts';
import { leavesWorkspace } from './links.ts';
import { encodeOrder } from './log.ts';
import { type Output, observeOutput, refuseLinkedParents } from './outputs.ts';
import type { RunRequest } from './request.ts';
import { type Testimony, testify } from './testimony.ts';

/** Content that a result needs: bytes in hand, or a file in the workspace. */
export type Sealed = { readonly digest: Digest } & (
  | { readonly bytes: Uint8Array }
  | { readonly file: string | Buffer }
);

export interface SealedResult {
  readonly publishable: true;
  readonly standing: Standing;
  readonly result: Uint8Array;
  readonly contents: readonly Sealed[];
  /** What the action looked at besides its inputs, if it was watched. */
  readonly pathSet?: PathSet;
}

export interface Unpublishable {
  readonly publishable: false;
  readonly standing: Standing;
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
  if (failure !== undefined) return { publishable: false, standing: 'unwatched', why: failure };
  const testimony = execution.watched && testify(action, execution.watched, digests);
  const standing = standingOf(testimony?.evidence);
  if (testimony && standing === 'marked') {
    context.report({ type: 'findings', findings: testimony.findings, gaps: testimony.evidence.gaps });
  }
  try {
    const why = refusalOf(request, testimony, standing) ?? changedSince(action, context);
    if (why !== undefined) return { publishable: false, standing, why };
    const pathSet = testimony?.pathSet();
    const outputs = request.outputs.map((path) => sealOutput(request.workspace, path, digests));
    return {
      ...encode(action, execution, outputs, testimony?.evidence),
      standing,
      ...(pathSet && { pathSet }),
    };
  } catch (error) {
    const why = error instanceof AssayError ? error.detail : messageOf(error);
    return { publishable: false, standing, why };
  }
}

function failureOf(
  { cacheFailures }: RunRequest,
  { exitCode, signal, logFault, outputFault }: Execution,
): string | undefined {
  if (signal) return `it was ended by ${signal}`;
  if (exitCode !== 0 && !cacheFailures) return `it ended with ${exitCode}`;
  return outputFault ?? logFault;
}

/** Observed inputs are all that the key has of what an action reads: it must be all, and the action must not change it. */
function refusalOf(
  { hermetic, observed }: RunRequest,
  testimony: Testimony | undefined,
  standing: Standing,
): string | undefined {
  if (hermetic === 'strict' && standing !== 'clean') return 'it is not hermetic';
  if (!observed) return undefined;
  if (!testimony) return 'nobody watched what it read';
  const [gap] = testimony.evidence.gaps;
  if (gap !== undefined) return `not all that it read is known: ${gap}`;
  const change = testimony.findings.find(({ kind }) => CHANGES.has(kind));
  return change && `it changes what it may read the next time: ${change.path}`;
}

const CHANGES: ReadonlySet<FindingKind> = new Set([
  'write',
  'delete',
  'mutate',
  'stale-output',
  'symlink-escape',
]);

function sealOutput(workspace: string, path: RelPath, digests: FileDigests): Output {
  refuseLinkedParents(workspace, path);
  const output = observeOutput(workspace, path, digests);
  if (!output) throw new AssayError('ASSAY_OUTPUT_UNFIT', `its declared output ${path} is missing`);
  const entries = output.kind === 'directory' ? output.entries : [output];
  for (const entry of entries) {
    const at = output.kind === 'directory' ? join(path, entry.path) : path;
    if (entry.kind === 'symlink' && leavesWorkspace(at, entry.target)) {
      throw new AssayError('ASSAY_OUTPUT_UNFIT', `its output ${at} is a link that leaves the workspace`);
    }
  }
  return output;
}

function encode(
  action: KeyedAction,
  execution: Execution,
  outputs: readonly Output[],
  evidence: Evidence | undefined,
): Pick<SealedResult, 'publishable' | 'result' | 'contents'> {
  const { workspace, workingDirectory } = action.request;
  const contents = new Map<Hash, Sealed>();
  const keepBytes = (bytes: Uint8Array): Digest => {
    const digest = digestOf(bytes);
    contents.set(digest.hash, { digest, bytes });
    return digest;
  };
  const keepFile = (path: RelPath, digest: Digest): void => {
    contents.set(digest.hash, { digest, file: toSystemPath(workspace, path) });
  };
  const result = emptyResult(execution.exitCode);
  for (const output of outputs) {
    const path = relativeTo(workingDirectory, output.path);
    if (output.kind === 'symlink') result.outputSymlinks.push({ path, target: output.target });
    if (output.kind === 'file') {
      keepFile(output.path, output.digest);
      const { executable: isExecutable } = output;
      result.outputFiles.push({
        path,
        digest: toWire(output.digest),
        isExecutable,
        contents: Buffer.alloc(0),
      });
    }
    if (output.kind === 'directory') {
      for (const entry of output.entries) {
        if (entry.kind === 'file') keepFile(join(output.path, entry.path), entry.digest);
      }
      const treeDigest = toWire(keepBytes(encodeTree(output.entries)));
      result.outputDirectories.push({ path, treeDigest, isTopologicallySorted: false });
    }
  }
  addLog(result, execution, evidence, keepBytes);
  contents.delete(EMPTY.hash);
  return {
    publishable: true,
    result: ActionResult.encode(result).finish(),
    contents: [...contents.values()],
  };
}

/** Short logs travel inside the result, long ones as blobs. */
function addLog(
  result: ActionResult,
  execution: Execution,
  evidence: Evidence | undefined,
  keep: (bytes: Uint8Array) => Digest,
): void {
  const { stdout, stderr, order } = execution.log;
  if (stdout.length <= RUN.inlineLogBytes) result.stdoutRaw = stdout;
  else result.stdoutDigest = toWire(keep(stdout));
  if (stderr.length <= RUN.inlineLogBytes) result.stderrRaw = stderr;
  else result.stderrDigest = toWire(keep(stderr));
  result.executionMetadata = {
    worker: '',
    executionStartTimestamp: timestamp(execution.startedAt),
    executionCompletedTimestamp: timestamp(execution.startedAt + execution.commandMs),
    auxiliaryMetadata: [encodeOrder(order), ...(evidence ? [encodeEvidence(evidence)] : [])],
  };
}

function timestamp(milliseconds: number): { seconds: number; nanos: number } {
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds, nanos: Math.round((milliseconds - seconds * 1000) * 1e6) };
}
