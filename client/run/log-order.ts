// Encodes the order of stdout and stderr in a log, and the places of the workspace's path, as metadata of the
// result.
import { LogOrder } from '../../core/proto/generated/assay.ts';
import type { Any } from '../../core/proto/generated/google/protobuf/any.ts';
import type { StoredLog } from './log-workspace.ts';

const ORDER_TYPE = 'type.googleapis.com/assay.v1.LogOrder';

type LogLayout = Pick<StoredLog, 'order' | 'workspaceAt'>;

export function encodeOrder({ order, workspaceAt }: LogLayout): Any {
  const message = LogOrder.encode({
    runLengths: [...order],
    stdoutWorkspace: distances(workspaceAt.stdout),
    stderrWorkspace: distances(workspaceAt.stderr),
  });
  return { typeUrl: ORDER_TYPE, value: Buffer.from(message.finish()) };
}

/** Empty if the result has no order (another client made it) or an invalid one. */
export function decodeOrder(metadata: readonly Any[]): LogLayout {
  const found = metadata.find(({ typeUrl }) => typeUrl === ORDER_TYPE);
  if (!found) return NONE;
  try {
    const { runLengths, stdoutWorkspace, stderrWorkspace } = LogOrder.decode(found.value);
    if ([runLengths, stdoutWorkspace, stderrWorkspace].some((list) => list.some((length) => length < 0)))
      return NONE;
    const workspaceAt = { stdout: sums(stdoutWorkspace), stderr: sums(stderrWorkspace) };
    return { order: runLengths, workspaceAt };
  } catch {
    return NONE;
  }
}

const NONE: LogLayout = { order: [], workspaceAt: { stdout: [], stderr: [] } };

/** Each place as its distance from the one before: most take one byte. */
function distances(places: readonly number[]): number[] {
  return places.map((at, index) => at - (places[index - 1] ?? 0));
}

function sums(distances: readonly number[]): number[] {
  let at = 0;
  return distances.map((distance) => {
    at += distance;
    return at;
  });
}
