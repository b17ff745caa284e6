// How much a connection may send before it is told to go on. Node's default of 64 KiB for all calls together costs an upload
// twice its processor time (docs/decisions/0050). Bun 1.4 keeps a window of its own, and after being told another size it
// never lets the client go on: there it is left alone.
import type { ServerHttp2Session } from 'node:http2';

export function widenWindow(session: ServerHttp2Session, bytes: number): void {
  if (globalThis.Bun === undefined) session.setLocalWindowSize(bytes);
}
