// Helpers for protobuf timestamps.
import type { Timestamp } from '../../../core/proto/generated/google/protobuf/timestamp.ts';

export function timestampOf(milliseconds: number): Timestamp {
  return { seconds: Math.floor(milliseconds / 1000), nanos: (milliseconds % 1000) * 1_000_000 };
}

export function isBefore(a: Timestamp, b: Timestamp): boolean {
  return a.seconds === b.seconds ? a.nanos < b.nanos : a.seconds < b.seconds;
}
