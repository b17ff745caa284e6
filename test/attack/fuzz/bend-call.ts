// The mutations that a fuzzer applies to a valid gRPC call: message bytes, frames, number of messages,
// method.
import { frame } from '../../../core/grpc/frame.ts';
import type { Random } from '../../rig/random.ts';
import type { GrpcRequest } from './grpc-targets.ts';

export interface BentCall {
  readonly path: string;
  /** All bytes that are sent, with the frame headers. */
  readonly bytes: Buffer;
  /** The call is reset instead of ended. */
  readonly isCut: boolean;
}

const HUGE_VARINT = Buffer.from('ffffffffffffffffff01', 'hex');

export function bentCall(random: Random, { path, messages }: GrpcRequest): BentCall {
  const framed = messages.map((message) =>
    frame(random.below(2) === 0 ? message : bentMessage(random, message)),
  );
  const parts = random.below(20) === 0 ? [...framed, ...framed] : framed;
  const whole = Buffer.concat(random.below(30) === 0 ? random.shuffled(parts) : parts);
  return {
    path: random.below(50) === 0 ? `${path}X` : path,
    bytes: random.below(8) === 0 ? bentFrames(random, whole) : whole,
    isCut: random.below(40) === 0,
  };
}

function bentMessage(random: Random, message: Uint8Array): Buffer {
  const bytes = Buffer.from(message);
  const at = random.below(bytes.length + 1);
  const before = bytes.subarray(0, at);
  const behind = bytes.subarray(at);
  switch (random.below(7)) {
    case 0:
      return before;
    case 1:
      return Buffer.concat([before, Buffer.from([random.below(256)]), behind]);
    case 2:
      return Buffer.concat([before, behind.subarray(1)]);
    case 3:
      return Buffer.concat([before, HUGE_VARINT, behind]);
    case 4:
      return Buffer.concat([bytes, bytes]);
    case 5:
      return random.bytes(random.below(40));
    default:
      if (at < bytes.length) bytes[at] = random.below(256);
      return bytes;
  }
}

function bentFrames(random: Random, bytes: Buffer): Buffer {
  const bent = Buffer.from(bytes);
  if (random.below(2) === 0) return bent.subarray(0, random.below(bent.length + 1));
  if (bent.length > 0) bent[random.below(Math.min(5, bent.length))] = random.below(256);
  return bent;
}
