// Adds declarations to a step in its assay.json for `--fix`. Comments and layout stay, and a file that a run
// would refuse is never written.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyEdits, findNodeAtLocation, modify, parseTree } from 'jsonc-parser';
import { AssayError } from '../../core/errors.ts';
import { ROOT } from '../../core/path.ts';
import { replaceFile } from '../../system/files/replace-file.ts';
import { CONFIG_FILE } from '../action/workspace-roots.ts';
import type { Step } from './step.ts';

/** One value to add to a list of a step, written relative to the package. */
export interface Addition {
  readonly field: 'inputs' | 'optionalInputs' | 'outputs' | 'env' | 'tools' | 'dependsOn';
  readonly value: string;
}

/** Returns why a run would refuse a file with this text; undefined if it would not. */
type CheckText = (text: string) => Promise<string | undefined>;

interface Added {
  /** How many were added. Values that are already declared do not count. */
  readonly added: number;
  /** Additions that were left out, because a run would refuse the file. */
  readonly refused: readonly { readonly addition: Addition; readonly why: string }[];
}

export async function addToStep(
  root: string,
  step: Step,
  additions: readonly Addition[],
  check: CheckText,
): Promise<Added> {
  const file = join(root, step.source.file);
  const before = readFileSync(file, 'utf8');
  const inherited = inheritedLists(root, step);
  const change = (text: string, one: Addition) => withAddition(text, step.source.path, one, inherited);
  const all = additions.reduce(change, before);
  const isAllRight = all === before || (await check(all)) === undefined;
  let text = before;
  let added = 0;
  const refused: { addition: Addition; why: string }[] = [];
  for (const addition of additions) {
    const changed = change(text, addition);
    if (changed === text) continue;
    const why = isAllRight ? undefined : await check(changed);
    if (why !== undefined) {
      refused.push({ addition, why });
      continue;
    }
    text = changed;
    added++;
  }
  if (added > 0) replaceUnchanged(file, before, text);
  return { added, refused };
}

type Inherited = (field: Addition['field']) => readonly unknown[];

/**
 * The step's lists in `packageSteps`. A new list in the package replaces such a list, so it must start with
 * it.
 */
function inheritedLists(root: string, { folder, name, source }: Step): Inherited {
  if (folder === ROOT || source.path[0] !== 'steps') return () => [];
  const shared = parseTree(readOrEmpty(join(root, CONFIG_FILE)));
  return (field) => {
    const list = shared && findNodeAtLocation(shared, ['packageSteps', name, field]);
    return (list?.children ?? []).map((child): unknown => child.value);
  };
}

function readOrEmpty(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '{}';
}

/** Writes a path from the root as a file in that folder would. */
export function toConfigPath({ folder }: Pick<Step, 'folder'>, path: string): string {
  if (folder === ROOT) return path;
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : `//${path}`;
}

function withAddition(
  text: string,
  path: Step['source']['path'],
  { field, value }: Addition,
  inherited: Inherited,
): string {
  const list = findNodeAtLocation(parseTree(text) ?? { type: 'object', offset: 0, length: 0 }, [
    ...path,
    field,
  ]);
  const known: unknown[] = (list?.children ?? []).map((child) => child.value);
  const given = list ? known : inherited(field);
  if (given.includes(value)) return text;
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? '  ';
  const formattingOptions = { insertSpaces: !indent.includes('\t'), tabSize: indent.length, eol: '\n' };
  const edits = list
    ? modify(text, [...path, field, known.length], value, { formattingOptions, isArrayInsertion: true })
    : modify(text, [...path, field], [...given, value], { formattingOptions });
  return applyEdits(text, edits);
}

/** Keeps a file that was changed by another program meanwhile. */
export function replaceUnchanged(file: string, before: string, after: string): void {
  if (readFileSync(file, 'utf8') !== before)
    throw new AssayError('ASSAY_CONFIG', `${file} changed while it was being edited`);
  replaceFile(file, after);
}
