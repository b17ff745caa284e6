// Memory outside V8's heap: the pieces in which bodies arrive. V8 marks its whole heap after every 64 MB of them, however
// many are garbage long since, which for an upload over gRPC is a quarter of all that it costs (docs/decisions/0150).
// Counted together with the heap instead, as later versions of V8 always do, they go with the young generation.
import { setFlagsFromString } from 'node:v8';

export function countExternalMemoryWithHeap(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit');
}
