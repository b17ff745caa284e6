// A receipt: whose run made a result. It is stored inside the result, and comes with each hit.
// It is in no key, and two results that differ in it alone do not diverge.
//
// It also names the key of the action. The result of a path set lies under another key, from which the action's key
// cannot be computed. `assay forget --key` finds such results by this name. A lookup refuses a result that names
// another action, so a result that hides from `forget` is no hit either.
//
// The time and the place are in fields of the Remote Execution API: the start of the execution, the worker.
// A receipt may come from another machine, so a text in another form counts as absent.
import { type Hash, isHash } from '../digest.ts';
import { decodeStrict } from '../message.ts';
import { Receipt as ReceiptMessage } from '../proto/generated/assay.ts';
import type { Any } from '../proto/generated/google/protobuf/any.ts';
import type { ActionResult } from '../proto/generated/reapi.ts';

const TYPE = 'type.googleapis.com/assay.v1.Receipt';

/** What a run tells of itself. Each field may be unknown: other clients and older versions tell less. */
export interface RunOrigin {
  /** The address of a CI job, or the name of a machine. */
  readonly where?: string;
  /** The commit that was checked out. Files may have differed from it. */
  readonly commit?: string;
  /** The version of Assay. */
  readonly assay?: string;
  /** How many files and links were declared inputs. */
  readonly inputs?: number;
  /** How often the command was run until it made this result (--retry); absent for once. */
  readonly tries?: number;
}

/** What a check of a hit found, if its command made something else than the stored result. */
export type HitVerdict = 'different' | 'unstable';

/** What a check of a hit found. */
export type Checked = 'same' | HitVerdict;

export interface Receipt extends RunOrigin {
  /** When the command started, as ISO 8601. */
  readonly at?: string;
  /** The result was made by a check of the stored one, and is never served. */
  readonly checked?: HitVerdict;
}

const WHERE = /^[\x21-\x7e](?:[\x20-\x7e]{0,298}[\x21-\x7e])?$/;
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const VERSION = /^\d[\w.+-]{0,63}$/;

export function isWhere(text: string): boolean {
  return WHERE.test(text);
}

export function isCommit(text: string): boolean {
  return COMMIT.test(text);
}

/** Without `where`, which is the worker of the result's metadata. */
export function encodeReceipt(action: Hash, origin: RunOrigin = {}): Any {
  const { commit = '', assay = '', inputs = 0, tries = 0 } = origin;
  return anyOf({ commit, assay, inputs, action, checked: '', tries });
}

function anyOf(message: ReceiptMessage): Any {
  return { typeUrl: TYPE, value: Buffer.from(ReceiptMessage.encode(message).finish()) };
}

/** The result of a check, whose receipt tells what the check found. A result without a receipt stays as it is. */
export function withVerdict(result: ActionResult, checked: HitVerdict): ActionResult {
  const { auxiliaryMetadata = [], ...metadata } = result.executionMetadata ?? { worker: '' };
  const receipt = decodeMessage(auxiliaryMetadata);
  if (!receipt) return result;
  const others = auxiliaryMetadata.filter(({ typeUrl }) => typeUrl !== TYPE);
  const marked = [...others, anyOf({ ...receipt, checked })];
  return { ...result, executionMetadata: { ...metadata, auxiliaryMetadata: marked } };
}

/** The key of the action that a result names. Undefined for results of other clients and older versions. */
export function actionNamedBy({
  executionMetadata,
}: Pick<ActionResult, 'executionMetadata'>): Hash | undefined {
  const action = decodeMessage(executionMetadata?.auxiliaryMetadata ?? [])?.action ?? '';
  return isHash(action) ? action : undefined;
}

export function receiptOf({ executionMetadata }: Pick<ActionResult, 'executionMetadata'>): Receipt {
  if (!executionMetadata) return {};
  const { worker, executionStartTimestamp: start, auxiliaryMetadata } = executionMetadata;
  const at = start && new Date(start.seconds * 1000 + Math.floor(start.nanos / 1e6));
  return {
    ...(at && !Number.isNaN(at.getTime()) && { at: at.toISOString() }),
    ...(WHERE.test(worker) && { where: worker }),
    ...decodeReceipt(auxiliaryMetadata),
  };
}

function decodeReceipt(metadata: readonly Any[]): Receipt {
  const message = decodeMessage(metadata);
  if (!message) return {};
  const { commit, assay, inputs, checked, tries } = message;
  return {
    ...(COMMIT.test(commit) && { commit }),
    ...(VERSION.test(assay) && { assay }),
    ...(inputs >= 0 && { inputs }),
    ...(tries > 1 && { tries }),
    ...((checked === 'different' || checked === 'unstable') && { checked }),
  };
}

/** A malformed receipt is none. */
function decodeMessage(metadata: readonly Any[]): ReceiptMessage | undefined {
  const found = metadata.find(({ typeUrl }) => typeUrl === TYPE);
  if (!found) return undefined;
  try {
    return decodeStrict(ReceiptMessage, {}, found.value, 'its receipt is malformed');
  } catch {
    return undefined;
  }
}
