// Encodes the order of stdout and stderr in a log, as metadata of the result.
import { LogOrder } from '../../core/proto/generated/assay.ts';
import type { Any } from '../../core/proto/generated/google/protobuf/any.ts';

const ORDER_TYPE = 'type.googleapis.com/assay.v1.LogOrder';

export function encodeOrder(order: readonly number[]): Any {
  return { typeUrl: ORDER_TYPE, value: Buffer.from(LogOrder.encode({ runLengths: [...order] }).finish()) };
}

/** Empty if the result has no order (another client made it) or an invalid one. */
export function decodeOrder(metadata: readonly Any[]): number[] {
  const found = metadata.find(({ typeUrl }) => typeUrl === ORDER_TYPE);
  if (!found) return [];
  try {
    const { runLengths } = LogOrder.decode(found.value);
    return runLengths.every((length) => length >= 0) ? runLengths : [];
  } catch {
    return [];
  }
}
