// What a call tells of itself in the receipt of its answer: the same as a run (client/run/run-origin.ts).
import type { Variables } from '../../../client/action/environment.ts';
import type { Inputs } from '../../../client/inputs/inputs.ts';
import { checkedOutCommit, placeOf } from '../../../client/run/run-origin.ts';
import type { RunOrigin } from '../../../core/metadata/receipt.ts';
import { VERSION } from '../../../core/version.ts';

export function originOfCall(workspace: string, inputs: Inputs | undefined, caller: Variables): RunOrigin {
  const where = placeOf(caller);
  const commit = checkedOutCommit(workspace);
  const files = inputs?.entries().filter(({ kind }) => kind !== 'directory') ?? [];
  return {
    assay: VERSION,
    inputs: files.length,
    ...(where !== undefined && { where }),
    ...(commit !== undefined && { commit }),
  };
}
