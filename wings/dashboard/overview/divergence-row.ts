// A key with two results as a row: what differs, from which byte on, who wrote each, and what to do.
import type { Namespace } from '../../../core/namespace.ts';
import type { ListedDivergence } from '../../../store/review/divergences.ts';
import type { DivergenceRow } from '../api/schemas/parts.ts';
import { shown } from '../runs/run-documents.ts';

export interface DivergenceReader {
  /** The reader may see content. */
  readonly mayReadBlobs: boolean;
  /** The reader can see the action of a key. */
  isStored(key: string): Promise<boolean>;
}

export async function divergenceRow(
  { key, namespace, first, second, difference, checked }: ListedDivergence,
  { mayReadBlobs, isStored }: DivergenceReader,
): Promise<DivergenceRow> {
  const { output, log, exitCodes } = difference;
  const content = output && 'offset' in output ? output : log && 'offset' in log ? log : undefined;
  return {
    key,
    namespace: shown(namespace as Namespace),
    ...(first && { first }),
    ...(second && { second }),
    text: textOf(difference),
    ...(output && { path: output.path }),
    ...(content && { byte: content.offset }),
    ...(content && mayReadBlobs && { bytes: { first: content.bytes[0], second: content.bytes[1] } }),
    isStored: await isStored(key),
    ...(checked && { checked }),
    whatToDo: whatToDo(checked, exitCodes !== undefined),
  };
}

function whatToDo(checked: ListedDivergence['checked'], isByExit: boolean): string {
  if (checked === 'different')
    return 'A stale hit: a check (`--check-hits`) ran the command twice, and both runs made the second result. The check’s log names what the first has no fact for. `assay forget --key` removes the first.';
  return isByExit
    ? 'The command ended in two ways with the same inputs. Run `assay reproduce` on the step.'
    : 'Run `assay reproduce` on the step: it names the likely cause, such as a time stamp or an order of files.';
}

function textOf({ exitCodes, output, log }: ListedDivergence['difference']): string {
  if (exitCodes) return `the exit codes are ${exitCodes[0]} and ${exitCodes[1]}`;
  if (output) {
    switch (output.how) {
      case 'content':
        return 'offset' in output
          ? `${output.path} differs from byte ${output.offset} on (${output.sizes[0]} and ${output.sizes[1]} bytes)`
          : `${output.path} differs (${output.sizes[0]} and ${output.sizes[1]} bytes)`;
      case 'only-in':
        return `only the ${output.side} result has ${output.path}`;
      case 'kind':
        return `${output.path} is a ${output.kinds[0]} in one and a ${output.kinds[1]} in the other`;
      case 'target':
        return `the link ${output.path} has two targets`;
      case 'executable':
        return `${output.path} is executable in one of them`;
      case 'folder':
        return `the folder ${output.path} differs`;
    }
  }
  return log ? `the ${log.stream} of the command differs` : 'the results differ';
}
