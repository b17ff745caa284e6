// One line of Assay's own: `assay: TEXT`. On a terminal it is wrapped between words; in a pipe or a file it
// stays one line, for programs that read it.
import { wrapLine } from '../../core/cli/layout.ts';
import type { Writable } from './sync-stream.ts';

/** A stream that may be a terminal. */
export type Screen = Writable & {
  readonly isTTY?: boolean;
  readonly isMidLine?: boolean;
  readonly columns?: number;
};

const PREFIX = 'assay: ';
const INDENT = ' '.repeat(PREFIX.length);

/** Ends with a newline. To find out the width of a terminal takes Node 6 ms. */
export function ownLine(text: string, screen: Screen): string {
  return `${wrapLine(`${PREFIX}${text}`, screen.columns ?? Number.POSITIVE_INFINITY, INDENT)}\n`;
}
