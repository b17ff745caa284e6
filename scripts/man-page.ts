// Makes the man page of `assay` from the help of its commands, so that the two cannot differ.
// `npm run package` puts it into the package, and npm installs it for `man assay`.
import { execFileSync } from 'node:child_process';

/** `executable`: the built `assay`. */
export function manPage(executable: string, version: string): string {
  const help = (...args: readonly string[]) =>
    execFileSync(executable, [...args, '--help'], { encoding: 'utf8', env: { COLUMNS: '76' } });
  const general = help();
  const commands = [...general.matchAll(/^ {2}([a-z][a-z-]*) {2,}\S/gm)].map(([, name = '']) => name);
  if (commands.length === 0) throw new Error('`assay --help` lists no command');
  return [
    `.TH ASSAY 1 "" "Assay ${version}"`,
    '.SH NAME',
    'assay \\- a content\\-addressed build and action cache',
    ...section('SYNOPSIS', general),
    ...commands.flatMap((name) => section(`ASSAY ${name.toUpperCase()}`, help(name))),
    '',
  ].join('\n');
}

/** Help has its own lines, and roff keeps them. */
function section(title: string, text: string): string[] {
  return [`.SH "${title}"`, '.nf', ...text.trimEnd().split('\n').map(escaped), '.fi'];
}

/** A backslash, and a dot or an apostrophe at the start of a line, mean something to roff. */
function escaped(line: string): string {
  return line
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1');
}
