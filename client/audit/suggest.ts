// From findings to the declarations that a person would write, and to the reasons why others are not
// declared. Every finding with a fix is in exactly one of the two lists.
import { isWithin, parentOf, parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import { type Finding, type Fix, fixText } from '../../hermeticity/verdict/finding.ts';
import { BOTH_WAYS, whyNeverDeclared } from './never-declared.ts';
import { InputAdvice } from './suggest-inputs.ts';
import type { WorkspaceFiles } from './workspace-files.ts';

interface Suggestion {
  readonly fixes: readonly Fix[];
  readonly findings: readonly Finding[];
}

interface NotDeclared {
  readonly why: string;
  readonly findings: readonly Finding[];
}

export interface Suggestions {
  readonly declare: readonly Suggestion[];
  readonly leave: readonly NotDeclared[];
}

/** A finding, and the path that its fix names: a file, or the folder that was listed. */
export interface PathFinding {
  readonly finding: Finding;
  readonly fix: Fix;
  readonly path: RelPath;
}

/** `home`: the folder of the step's package. */
export function suggest(findings: readonly Finding[], files: WorkspaceFiles, home: RelPath): Suggestions {
  const written = findings.flatMap((finding) => withPath(finding, ['--output']));
  const read = findings.flatMap((finding) => withPath(finding, ['--input', '--optional-input']));
  const parts = [
    suggestOutputs(written, read, files, home),
    new InputAdvice(read, written, files, home).suggestions(),
    suggestOthers(findings),
  ];
  return {
    declare: parts.flatMap(({ declare }) => declare),
    leave: merged(parts.flatMap(({ leave }) => leave)),
  };
}

function withPath(finding: Finding, flags: readonly Fix['flag'][]): PathFinding[] {
  const { fix, kind } = finding;
  if (!fix || !flags.includes(fix.flag)) return [];
  const pattern = kind === 'list' ? fix.value.replace(/\/?\*$/, '') : fix.value;
  const path = fix.flag === '--output' ? pattern : pattern.replaceAll(/\\(.)/gs, '$1');
  return [{ finding, fix, path: parseRelPath(path) }];
}

function merged(leave: readonly NotDeclared[]): NotDeclared[] {
  const byReason = [...Map.groupBy(leave, ({ why }) => why)];
  return byReason.map(([why, some]) => ({ why, findings: some.flatMap(({ findings }) => findings) }));
}

/** Up to this many outputs in one folder are named one by one. */
const MOST_OUTPUTS = 5;

function suggestOutputs(
  written: readonly PathFinding[],
  read: readonly PathFinding[],
  files: WorkspaceFiles,
  home: RelPath,
): Suggestions {
  const paths = [...new Set(written.map(({ path }) => path))];
  const outermost = paths.filter((path) => !paths.some((other) => other !== path && isWithin(path, other)));
  const findingsIn = (path: RelPath) =>
    written.filter((one) => isWithin(one.path, path)).map(({ finding }) => finding);
  const refused = outermost.flatMap((path) => {
    const why = whyNoOutput(path, read);
    return why === undefined ? [] : [{ path, why, findings: findingsIn(path) }];
  });
  const wanted = wholeFolders(
    outermost.filter((path) => !refused.some((one) => one.path === path)),
    files,
    home,
  );
  const byFolder = [...Map.groupBy(wanted, parentOf)];
  const crowded = byFolder.filter(([, some]) => some.length > MOST_OUTPUTS);
  const clear = byFolder.filter(([, some]) => some.length <= MOST_OUTPUTS);
  return {
    declare: clear.flatMap(([, some]) =>
      some.map((path) => ({ fixes: [{ flag: '--output', value: path }], findings: findingsIn(path) })),
    ),
    leave: [
      ...refused,
      ...crowded.map(([folder, some]) => ({
        why: `an output is a file or a folder, no pattern: let the command write them to a folder of their own, not to ${folder || '.'}`,
        findings: some.flatMap(findingsIn),
      })),
    ],
  };
}

/** Replaces outputs by their folder if the command wrote everything in it, and so on upwards. */
function wholeFolders(outputs: readonly RelPath[], files: WorkspaceFiles, home: RelPath): readonly RelPath[] {
  const whole = [...Map.groupBy(outputs, parentOf)].flatMap(([folder, some]) => {
    const isShared = folder === ROOT || isWithin(home, folder) || some.length < 2;
    const all = isShared ? [] : (files.all(folder) ?? []);
    const isOwn = all.length > 0 && all.every((file) => outputs.some((output) => isWithin(file, output)));
    return isOwn ? [folder] : [];
  });
  if (whole.length === 0) return outputs;
  const others = outputs.filter((output) => !whole.some((folder) => isWithin(output, folder)));
  return wholeFolders([...others, ...whole], files, home);
}

/** A path that is read and written is neither input nor output: the key would depend on the last run. */
function whyNoOutput(path: RelPath, read: readonly PathFinding[]): string | undefined {
  const isRead = read.some(({ finding, path: at }) => finding.kind !== 'absent' && isWithin(at, path));
  return whyNeverDeclared(path) ?? (isRead ? BOTH_WAYS : undefined);
}

/** Tools, variables and dependencies: each is declared as it was found. */
function suggestOthers(findings: readonly Finding[]): Suggestions {
  const fixed = findings.flatMap((finding) => {
    const { fix } = finding;
    return fix && ['--tool', '--env', 'dependsOn'].includes(fix.flag) ? [{ finding, fix }] : [];
  });
  const byFix = [...Map.groupBy(fixed, ({ fix }) => fixText(fix)).values()];
  return {
    declare: byFix.flatMap((some) => {
      const [first] = some;
      return first ? [{ fixes: [first.fix], findings: some.map(({ finding }) => finding) }] : [];
    }),
    leave: [],
  };
}
