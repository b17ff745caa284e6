// The report of an export, for a person.
import { bytes, counted } from '../../core/text/amounts.ts';
import type { Collected, LeftOut } from './export/collect.ts';
import type { Exported } from './export/export.ts';

export function writtenText(
  where: string,
  { results, labels, blobs, leftOut }: Collected,
  { head, bytes: written }: Exported,
): string {
  const named = labels === 0 ? '' : `, ${counted(labels, 'label')}`;
  return [
    `${counted(results, 'result')}${named}, ${counted(blobs.length, 'blob')}, ${bytes(written)} in ${where}`,
    `bundle ${head.bundle}${head.signature === undefined ? '' : ', signed'}`,
    ...leftOutLines(leftOut),
  ].join('\n');
}

export function nothingText(leftOut: LeftOut): string {
  return ['no result was found, and no file was written', ...leftOutLines(leftOut)].join('\n');
}

function leftOutLines({ incomplete, local, unfit }: LeftOut): string[] {
  const line = (results: number, why: string) =>
    results === 0 ? [] : [`left out: ${counted(results, 'result')} ${why}`];
  return [
    ...line(local, 'that would not be sent to a server either'),
    ...line(incomplete, 'of which the store lost a part'),
    ...line(unfit, 'whose outputs no client would take from a server'),
  ];
}
