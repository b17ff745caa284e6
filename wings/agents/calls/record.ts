// The answer of a call as a result: one output file with the answer, and one folder with the files that the call wrote.
// Guarantee: two calls with one key and other answers diverge, as two runs of an action do. A record that is malformed is
// none. It has no evidence, so its status is `unwatched`.

import type { Variables } from '../../../client/action/environment.ts';
import type { FileDigests } from '../../../client/files/file-digest.ts';
import { encodeOutputs, fitOutput, type Sealed } from '../../../client/outputs/encoded-outputs.ts';
import { type Output, outputsNamedBy, whyUnfit } from '../../../client/outputs/outputs.ts';
import type { ReadTree } from '../../../client/remote/fetch-content.ts';
import type { HitReceipt } from '../../../client/run/receipt.ts';
import { canonicalJson } from '../../../core/config/canonical-json.ts';
import { digestOf, parseDigest, toWire } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { encodeReceipt, receiptOf } from '../../../core/metadata/receipt.ts';
import { parseRelPath, ROOT } from '../../../core/path.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { decodeResult, emptyResult } from '../../../core/result.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { Blobs } from '../../../store/store.ts';
import { JSON_BOUNDS, type KeyedCall } from './key.ts';
import { CALLS } from './limits.ts';
import { originOfCall } from './origin.ts';

const ANSWER = 'answer';
const FILES = parseRelPath('files');

/** The first byte of an answer: what the rest is. */
const KINDS = ['none', 'json', 'bytes', 'error'] as const;

export interface CallAnswer {
  readonly kind: (typeof KINDS)[number];
  readonly bytes: Buffer;
}

interface AnswerRecord {
  readonly bytes: Uint8Array;
  readonly contents: readonly Sealed[];
}

export interface StoredAnswer {
  readonly answer: CallAnswer;
  /** What lies in the folder of the call. */
  readonly files: Output | undefined;
  readonly receipt: HitReceipt;
}

export function answerOf(value: unknown): CallAnswer {
  if (value === undefined) return { kind: 'none', bytes: Buffer.alloc(0) };
  if (value instanceof Uint8Array) return checked('bytes', Buffer.from(value));
  return checked('json', Buffer.from(canonicalJson(value, JSON_BOUNDS)));
}

/** The name and the message of what was thrown. */
export function answerOfError(error: unknown): CallAnswer {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return checked('error', Buffer.from(JSON.stringify({ name, message })));
}

/** The value of an answer. Throws the error that it holds. */
export function valueIn({ kind, bytes }: CallAnswer): unknown {
  if (kind === 'none') return undefined;
  if (kind === 'bytes') return bytes;
  const value: unknown = JSON.parse(bytes.toString());
  if (kind === 'json') return value;
  const { name, message }: { name?: unknown; message?: unknown } = Object(value);
  throw Object.assign(new Error(String(message)), { name: String(name) });
}

interface CallTimes {
  readonly startedAt: number;
  readonly endedAt: number;
  /** The folder above the one that the call wrote. */
  readonly root: string | undefined;
}

export function encodeAnswer(
  { key, request, inputs }: KeyedCall,
  answer: CallAnswer,
  { startedAt, endedAt, root }: CallTimes,
  digests: FileDigests,
  caller: Variables,
): AnswerRecord {
  const written = root === undefined ? undefined : fitOutput(root, FILES, digests);
  const { result, contents } = encodeOutputs(written ? [written] : [], root ?? '', ROOT);
  const bytes = Buffer.concat([Buffer.from(answer.kind.slice(0, 1)), answer.bytes]);
  const digest = contents.addBytes(bytes);
  const isInlined = bytes.length <= CALLS.inlinedBytes;
  const origin = originOfCall(request.workspace, inputs, caller);
  result.outputFiles.push({
    ...{ path: ANSWER, digest: toWire(digest), isExecutable: false },
    contents: isInlined ? bytes : Buffer.alloc(0),
  });
  result.exitCode = answer.kind === 'error' ? 1 : 0;
  result.executionMetadata = {
    worker: origin.where ?? '',
    executionStartTimestamp: timestamp(startedAt),
    executionCompletedTimestamp: timestamp(endedAt),
    auxiliaryMetadata: [encodeReceipt(key.hash, origin)],
  };
  return {
    bytes: ActionResult.encode({ ...emptyResult(0), ...result }).finish(),
    contents: contents.values(),
  };
}

/** Reads only Trees and the answer: the files are written later. Throws if the record is malformed. */
export async function decodeAnswer(
  bytes: Uint8Array,
  blobs: Pick<Blobs, 'get'>,
  readTree: ReadTree,
): Promise<StoredAnswer> {
  const result = decodeResult(bytes);
  const file = result.outputFiles.find(({ path }) => path === ANSWER);
  if (!file?.digest) throw malformed('it has no answer');
  const { hash, size } = parseDigest(file.digest);
  const content = file.contents.length > 0 ? Buffer.from(file.contents) : await readBlob(hash, blobs);
  if (digestOf(content).hash !== hash || content.length !== size)
    throw malformed('its answer has another digest');
  const kind = KINDS.find((one) => one.startsWith(content.toString('latin1', 0, 1) || '?'));
  if (!kind) throw malformed('its answer is of an unknown kind');
  const outputs = await outputsNamedBy({ ...result, outputFiles: [] }, ROOT, readTree);
  const [files, ...more] = outputs;
  if (more.length > 0 || (files && files.path !== FILES)) throw malformed('it has other outputs');
  const why = files && whyUnfit(files);
  if (why !== undefined) throw malformed(`its output ${why}`);
  return { answer: { kind, bytes: content.subarray(1) }, files, receipt: receiptIn(result) };
}

function receiptIn(result: ActionResult): HitReceipt {
  const facts = { files: 0, absent: 0, listings: 0, libraries: 0, machine: 0 };
  return { ...receiptOf(result), status: 'unwatched', facts, compared: 'contents' };
}

function checked(kind: CallAnswer['kind'], bytes: Buffer): CallAnswer {
  if (bytes.length <= CALLS.maxAnswerBytes) return { kind, bytes };
  throw new AssayError('ASSAY_BAD_CALL', `the answer is longer than ${CALLS.maxAnswerBytes} bytes`);
}

function malformed(why: string): AssayError {
  return new AssayError('ASSAY_RESULT_MALFORMED', `not the answer of a call: ${why}`);
}

function timestamp(milliseconds: number): { seconds: number; nanos: number } {
  const seconds = Math.floor(milliseconds / 1000);
  return { seconds, nanos: Math.round((milliseconds - seconds * 1000) * 1e6) };
}
