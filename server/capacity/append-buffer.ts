// What slow clients have sent so far, in memory of its own. A small buffer is otherwise a slice of 64 KiB that node shares
// out, and all of them stay for as long as one slice does: a client that sends a byte now and then would hold 64 KiB with it.

export function appendBuffer(before: Buffer, piece: Buffer): Buffer {
  const both = Buffer.allocUnsafeSlow(before.length + piece.length);
  before.copy(both);
  piece.copy(both, before.length);
  return both;
}
