// Adds drafted steps to the text of an assay.json that exists.
// Every other step, field and comment stays as it is; only the "Not sure" remarks of a rewritten step are replaced.
import { applyEdits, findNodeAtLocation, modify, parseTree } from 'jsonc-parser';

interface MergedStep {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly remarks: readonly string[];
}

export function mergedText(text: string, steps: readonly MergedStep[]): string {
  return steps.reduce(withStep, text);
}

function withStep(text: string, { name, fields, remarks }: MergedStep): string {
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? '  ';
  const formattingOptions = { insertSpaces: !indent.includes('\t'), tabSize: indent.length, eol: '\n' };
  const placed = applyEdits(text, modify(text, ['steps', name], PLACE, { formattingOptions }));
  return withRemarks(
    placed.replace(`"${PLACE}"`, () => valueText(fields, indent)),
    name,
    remarks,
  );
}

const PLACE = 'the fields of a step that assay init writes';

/** Each field on a line of its own, as in a first file. */
function valueText(fields: MergedStep['fields'], indent: string): string {
  const lines = Object.entries(fields).map(
    ([field, value]) => `${indent.repeat(3)}${JSON.stringify(field)}: ${JSON.stringify(value)}`,
  );
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${indent.repeat(2)}}`;
}

function withRemarks(text: string, name: string, remarks: readonly string[]): string {
  const tree = parseTree(text);
  const at = (tree && findNodeAtLocation(tree, ['steps', name]))?.parent?.offset ?? 0;
  const start = text.lastIndexOf('\n', at - 1) + 1;
  const indent = text.slice(start, at);
  if (indent.trim() !== '') return text;
  const before = text.slice(0, start).replace(/(?:[ \t]*\/\/ Not sure: [^\n]*\n)+$/, '');
  const lines = remarks.map((remark) => `${indent}// Not sure: ${remark.replaceAll('\n', ' ')}\n`);
  return `${before}${lines.join('')}${text.slice(start)}`;
}
