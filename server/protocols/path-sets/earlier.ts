// Tells a client whose action is a miss what its step did before, so that a machine without a history can name the
// reason. Only the answer to a miss has it: a hit costs nothing, and no request is added.
//
// What it says was reported in a namespace in which this lookup also looks for results. The answer and the work for
// it have a bound. It has no key, no value of a variable and no command line (store/actions/outline.ts).
import { isHash, parseDigest } from '../../../core/digest.ts';
import { isStepId, type StepId } from '../../../core/metadata/step-id.ts';
import { Directory } from '../../../core/proto/generated/reapi.ts';
import { readCompared } from '../../../store/actions/difference.ts';
import {
  type ActionOutline,
  type Earlier,
  type EarlierRun,
  encodeEarlier,
  withoutValues,
} from '../../../store/actions/outline.ts';
import type { BlobReader } from '../../../store/store.ts';
import type { RequestContext } from '../../context.ts';
import { type EarlierAction, earlierOfStep } from '../../history/step-documents.ts';
import { EARLIER_ACTION } from '../../limits.ts';
import type { ListName } from './lists.ts';

const NOTHING = Buffer.alloc(0);

/** An encoded EarlierAction. Empty if the client does not ask, or the store keeps no history. */
export async function earlierAction(
  { store, server }: RequestContext,
  { namespace, key }: ListName,
  step: StepId | undefined,
): Promise<Buffer> {
  const { history } = server.wholeStore;
  if (!history || step === undefined) return NOTHING;
  const actions = await earlierOfStep(history, step, store.reportedIn(namespace));
  const same = actions.find((one) => one.key === key);
  return bounded(same ? { outcome: 'same', ...ranAs(same) } : await otherAction(actions, store.blobs));
}

/** Undefined for what is no id, as if the client had not asked. */
export function stepIn(text: string | Uint8Array | null): StepId | undefined {
  const id = typeof text === 'string' ? text : Buffer.from(text ?? NOTHING).toString('hex');
  return isStepId(id) ? id : undefined;
}

/** The first whose action is stored. Without one, the answer says that the step ran. */
async function otherAction(actions: readonly EarlierAction[], blobs: BlobReader): Promise<Earlier> {
  for (const action of actions.slice(0, EARLIER_ACTION.triedActions)) {
    const outline = await outlineOf(action.key, blobs);
    if (outline) return { outcome: 'other', ...ranAs(action), outline };
  }
  const [first] = actions;
  return first ? { outcome: 'other', ...ranAs(first) } : { outcome: 'none' };
}

function ranAs({ namespace, run, at, exitCode, notKept, ranMs }: EarlierAction): EarlierRun {
  return { namespace, run, at: Date.parse(at), exitCode, notKept, ranMs };
}

/** Undefined if the action, or a part of it, is not stored. */
async function outlineOf(key: string | undefined, blobs: BlobReader): Promise<ActionOutline | undefined> {
  if (key === undefined || !isHash(key)) return undefined;
  try {
    const action = withoutValues(await readCompared(key, smallOnly(blobs)));
    return { action, directories: await upperDirectories(action.inputRoot.hash, blobs) };
  } catch {
    return undefined;
  }
}

/** A small blob lies in the index: reading it is one lookup. A key that names another blob costs no more. */
function smallOnly(blobs: BlobReader): BlobReader {
  return {
    async get(hash) {
      const blob = await blobs.get(hash);
      return blob && blob.size <= EARLIER_ACTION.maxActionBytes ? blob : undefined;
    },
  };
}

/** Breadth first, as many as fit: the client fetches what else it needs. */
async function upperDirectories(root: string, blobs: BlobReader): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  const queue = [root];
  let bytesLeft: number = EARLIER_ACTION.directoryBytes;
  for (const hash of queue) {
    if (found.length === EARLIER_ACTION.directories || !isHash(hash)) break;
    const blob = await blobs.get(hash);
    if (!blob?.bytes || blob.size > bytesLeft) break;
    bytesLeft -= blob.size;
    found.push(blob.bytes);
    for (const { digest } of Directory.decode(blob.bytes).directories)
      if (digest) queue.push(parseDigest(digest).hash);
  }
  return found;
}

/** An action with very many names counts as one that is no longer stored. */
function bounded(earlier: Earlier): Buffer {
  const whole = encodeEarlier(earlier);
  if (whole.length <= EARLIER_ACTION.maxBytes || earlier.outcome !== 'other') return whole;
  const { outline: _, ...ran } = earlier;
  return encodeEarlier(ran);
}
