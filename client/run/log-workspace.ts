// The path of the workspace in a log. A stored log has a placeholder in its place, and a list of the
// positions. A replay writes the path of the current workspace there: in the same workspace, the very bytes
// of the command.
//
// The list makes escapes unnecessary: a command may print the placeholder's own text. Other clients show it.
import { RUN } from '../limits.ts';
import { wholePath } from '../outputs/machine-text.ts';
import type { Log, StreamName } from '../process/log.ts';

/** Where the sandbox has the workspace, too. */
const PLACEHOLDER = Buffer.from('/workspace');

export interface StoredLog extends Log {
  /** For each stream: where the placeholders begin, in order. */
  readonly workspaceAt: Readonly<Record<StreamName, readonly number[]>>;
}

export function withoutWorkspace(log: Log, workspace: string): StoredLog {
  const length = Buffer.byteLength(workspace);
  const stdout = replace(log.stdout, placesOf(workspace, log.stdout), length, PLACEHOLDER);
  const stderr = replace(log.stderr, placesOf(workspace, log.stderr), length, PLACEHOLDER);
  return {
    ...edited(log, { stdout, stderr }),
    workspaceAt: { stdout: stdout.places, stderr: stderr.places },
  };
}

/** A list that does not fit the log is ignored: another client may have written anything. */
export function withWorkspace({ workspaceAt, ...log }: StoredLog, workspace: string): Log {
  const path = Buffer.from(workspace);
  const filled = (stream: StreamName) => {
    const places = workspaceAt[stream];
    const isSound = fits(log[stream], places, path.length);
    return replace(log[stream], isSound ? places : [], PLACEHOLDER.length, path);
  };
  return edited(log, { stdout: filled('stdout'), stderr: filled('stderr') });
}

function placesOf(workspace: string, bytes: Buffer): number[] {
  const path = Buffer.from(workspace);
  const isWhole = wholePath(workspace);
  const places: number[] = [];
  let at = path.length < MIN_PATH ? -1 : bytes.indexOf(path);
  while (at >= 0 && places.length < RUN.logPlaces) {
    const end = at + path.length;
    const isPlace = isWhole({ bytes, start: at, end });
    if (isPlace) places.push(at);
    at = bytes.indexOf(path, isPlace ? end : at + 1);
  }
  return places;
}

/** "/" alone is in every path. */
const MIN_PATH = 2;

function fits(bytes: Buffer, places: readonly number[], pathLength: number): boolean {
  if (places.length > RUN.logPlaces) return false;
  if (bytes.length + places.length * pathLength > 2 * RUN.maxLogBytes) return false;
  let end = 0;
  return places.every((at) => {
    const isNext = at >= end && bytes.subarray(at, at + PLACEHOLDER.length).equals(PLACEHOLDER);
    end = at + PLACEHOLDER.length;
    return isNext;
  });
}

interface Edited {
  readonly bytes: Buffer;
  /** Where the new texts begin, in the new bytes. */
  readonly places: readonly number[];
  /** The new position of an old one. A position inside an old text becomes the end of the new one. */
  moved(position: number): number;
}

/** Puts `text` in place of `length` bytes at each of these positions. */
function replace(bytes: Buffer, at: readonly number[], length: number, text: Buffer): Edited {
  if (at.length === 0) return { bytes, places: [], moved: (position) => position };
  const growth = text.length - length;
  const pieces: Buffer[] = [];
  let end = 0;
  for (const start of at) {
    pieces.push(bytes.subarray(end, start), text);
    end = start + length;
  }
  pieces.push(bytes.subarray(end));
  let passed = 0;
  return {
    bytes: Buffer.concat(pieces),
    places: at.map((start, index) => start + index * growth),
    // Called with ascending positions.
    moved(position) {
      while (passed < at.length && (at[passed] ?? 0) < position) passed++;
      const last = at[passed - 1];
      const inside = last === undefined ? 0 : Math.max(0, last + length - position);
      return position + inside + passed * growth;
    },
  };
}

/** The log with these streams. The runs keep their order, with new lengths. */
function edited(log: Log, streams: Readonly<Record<StreamName, Edited>>): Log {
  const ends = { stdout: 0, stderr: 0 };
  let stream: StreamName = 'stdout';
  const order = log.order.map((length) => {
    const from = streams[stream].moved(ends[stream]);
    ends[stream] += length;
    const to = streams[stream].moved(ends[stream]);
    stream = stream === 'stdout' ? 'stderr' : 'stdout';
    return to - from;
  });
  return { stdout: streams.stdout.bytes, stderr: streams.stderr.bytes, order };
}
