// What a checkpoint says of itself beside its content: its step, who sealed it, and under which fence.
// It is stored inside the snapshot. It may come from another machine, so a malformed note counts as absent.

import type { Fence } from '../../../core/action-lease.ts';
import { decodeStrict } from '../../../core/message.ts';
import { isWhere } from '../../../core/metadata/receipt.ts';
import { CheckpointNote } from '../../../core/proto/generated/assay.ts';
import type { Any } from '../../../core/proto/generated/google/protobuf/any.ts';
import { decodeResult } from '../../../core/result.ts';

const TYPE = 'type.googleapis.com/assay.v1.CheckpointNote';

export interface Note {
  /** The name of the step, or its program and outputs. */
  readonly step?: string;
  /** Where it was sealed: a CI job or a machine. */
  readonly owner?: string;
  /** Undefined for a run without an action lease. */
  readonly fence?: Fence;
}

export function encodeNote(step: string, fence: Fence | undefined): Any {
  const { epoch, number } = fence ?? { epoch: 0, number: 0 };
  return {
    typeUrl: TYPE,
    value: Buffer.from(CheckpointNote.encode({ step, epoch, fence: number }).finish()),
  };
}

export function noteIn(bytes: Uint8Array): Note {
  const { worker = '', auxiliaryMetadata = [] } = decodeResult(bytes).executionMetadata ?? {};
  const { step = '', epoch = 0, fence: number = 0 } = decode(auxiliaryMetadata) ?? {};
  return {
    ...(step !== '' && { step }),
    ...(isWhere(worker) && { owner: worker }),
    ...(number > 0 && { fence: { epoch, number } }),
  };
}

function decode(metadata: readonly Any[]): CheckpointNote | undefined {
  const found = metadata.find(({ typeUrl }) => typeUrl === TYPE);
  try {
    return found && decodeStrict(CheckpointNote, {}, found.value, 'the note of a checkpoint is malformed');
  } catch {
    return undefined;
  }
}
