// The first difference of two results, in words.
import type { ByteDifference } from '../../store/review/first-byte.ts';
import type { OutputDifference, ResultDifference } from '../../store/review/first-difference.ts';
import { bytesText } from '../view/words.ts';

/** What the two results are called. */
type Sides = readonly [first: string, second: string];

export function resultDifferenceText({ exitCodes, output, log }: ResultDifference, sides: Sides): string {
  const parts = [
    exitCodes && `exit code ${exitCodes[0]} and ${exitCodes[1]}`,
    output && outputText(output, sides),
    log && `${log.stream} ${byteText(log)}`,
  ].filter((part) => part !== undefined);
  return parts.join('; ') || 'they differ only in how their folders are encoded';
}

function outputText(output: OutputDifference, [first, second]: Sides): string {
  const { path } = output;
  switch (output.how) {
    case 'content':
      return `${path} ${byteText(output)} (${bytesText(output.sizes[0])} and ${bytesText(output.sizes[1])})`;
    case 'only-in':
      return `${path} is only in the ${output.side === 'first' ? first : second} result`;
    case 'kind':
      return `${path} is a ${output.kinds[0]} in the ${first} and a ${output.kinds[1]} in the ${second} result`;
    case 'executable':
      return `${path} is executable only in the ${output.executable[0] ? first : second} result`;
    case 'target':
      return `${path} leads to ${JSON.stringify(output.targets[0])} and ${JSON.stringify(output.targets[1])}`;
    case 'folder':
      return `${path} differs; its list of files is gone (${output.gone})`;
  }
}

function byteText(difference: ByteDifference): string {
  if ('offset' in difference) return `differs from byte ${difference.offset} on`;
  if ('gone' in difference) return `differs; its content is gone (${difference.gone})`;
  return 'differs; the first bytes are equal, and the rest was not compared';
}
