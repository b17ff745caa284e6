// Makes the man page of `assay` from the help of its commands, so that the two cannot differ.
// `npm run package` puts it into the package, and npm installs it for `man assay`.
import { execFileSync } from 'node:child_process';
import { wrapText } from '../core/cli/layout.ts';

/** A man page is read in a terminal of 80 columns, and `man` indents these lines. */
const COLUMNS = 72;
const LEAST_ROOM = 24;

/** `executable`: the built `assay`. `title`: the command that the page is for. */
export function manPage(executable: string, version: string, title = 'assay'): string {
  const help = (...args: readonly string[]) =>
    execFileSync(executable, [...args, '--help'], { encoding: 'utf8', env: {} });
  const general = help();
  const commands = [...general.matchAll(/^ {2}([a-z][a-z-]*(?: [a-z-]+)?) {2,}\S/gm)].map(
    ([, name = '']) => name,
  );
  if (commands.length === 0) throw new Error('`assay --help` lists no command');
  return [
    `.TH ${title.toUpperCase()} 1 "" "Assay ${version}"`,
    '.SH NAME',
    `${title.replace('-', '\\-')} \\- a content\\-addressed build and action cache`,
    ...section('SYNOPSIS', general),
    ...commands.flatMap((name) => section(`ASSAY ${name.toUpperCase()}`, help(...name.split(' ')))),
    '',
  ].join('\n');
}

/** Help has its own lines, and roff keeps them. Examples are not wrapped, so that they can be copied. */
function section(title: string, text: string): string[] {
  const lines = text.trimEnd().split('\n').map(withWrappedRow).join('\n');
  return [`.SH "${title}"`, '.nf', ...wrapText(lines, COLUMNS).split('\n').map(escaped), '.fi'];
}

/** Wraps the second column of a row. */
function withWrappedRow(line: string): string {
  const [left = ''] = /^ {2}\S.*? {2,}(?=\S)/.exec(line) ?? [];
  if (left === '') return line;
  const room = Math.max(LEAST_ROOM, COLUMNS - left.length);
  return left + wrapText(line.slice(left.length), room).replaceAll('\n', `\n${' '.repeat(left.length)}`);
}

/** A backslash, and a dot or an apostrophe at the start of a line, mean something to roff. */
function escaped(line: string): string {
  return line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1');
}
