// Formats one finding: as a line for people, as a JSON object for programs.
import { commandText, type Finding, fixText } from '../../hermeticity/verdict/finding.ts';

export function findingJson({
  kind,
  path,
  detail,
  process,
  atMs,
  fix,
  advice,
}: Finding): Record<string, unknown> {
  const mend = fix ? fixText(fix) : advice;
  return {
    kind,
    ...(path !== undefined && { path }),
    ...(detail !== undefined && { detail }),
    ...(process && { process }),
    atMs,
    ...(mend !== undefined && { fix: mend }),
  };
}

export function findingLine({ kind, path, detail, process, advice }: Finding): string {
  const what = [path, detail].filter((part) => part !== undefined).join(': ');
  const mend = advice === undefined ? '' : `\n${' '.repeat(17)}${advice}`;
  const who = process ? `  (${shortened(commandText(process))})` : '';
  return `  ${kind.padEnd(14)} ${what}${who}${mend}`;
}

const MOST_SHOWN = 60;

function shortened(text: string): string {
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 1)}…` : text;
}
