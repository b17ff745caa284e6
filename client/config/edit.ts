// Adds declarations to a step where it is written, keeping comments and layout: what `--fix` needs.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyEdits, findNodeAtLocation, modify, parseTree } from 'jsonc-parser';
import { AssayError } from '../../core/errors.ts';
import { ROOT } from '../../core/path.ts';
import { CONFIG_FILE } from '../action/workspace-roots.ts';
import type { Step } from './step.ts';

/** A list of a step, and what is to stand in it, as the package's file writes it. */
export interface Addition {
  readonly field: 'inputs' | 'optionalInputs' | 'outputs' | 'env' | 'tools' | 'dependsOn';
  readonly value: string;
}

/** Says why a file with such a text would be refused; undefined if it would not. */
export type Try = (text: string) => Promise<string | undefined>;

export interface Added {
  /** How many; those that stand there already are left alone. */
  readonly added: number;
  /** Those that are not written, because a run would refuse the file. */
  readonly refused: readonly { readonly addition: Addition; readonly why: string }[];
}

/** Adds what can be added: a file that would be refused is never written. */
export async function addToStep(
  root: string,
  step: Step,
  additions: readonly Addition[],
  attempt: Try,
): Promise<Added> {
  const file = join(root, step.source.file);
  const before = readFileSync(file, 'utf8');
  const inherited = inheritedBy(root, step);
  const change = (text: string, one: Addition) => withAddition(text, step.source.path, one, inherited);
  const all = additions.reduce(change, before);
  const isAllRight = all === before || (await attempt(all)) === undefined;
  let text = before;
  let added = 0;
  const refused: { addition: Addition; why: string }[] = [];
  for (const addition of additions) {
    const changed = change(text, addition);
    if (changed === text) continue;
    const why = isAllRight ? undefined : await attempt(changed);
    if (why !== undefined) {
      refused.push({ addition, why });
      continue;
    }
    text = changed;
    added++;
  }
  if (added > 0) replaceFile(file, before, text);
  return { added, refused };
}

type Inherited = (field: Addition['field']) => readonly unknown[];

/** What a package's step has from `packageSteps`: a list of its own takes the place of that, so it begins with it. */
function inheritedBy(root: string, { folder, name, source }: Step): Inherited {
  if (folder === ROOT || source.path[0] !== 'steps') return () => [];
  const shared = parseTree(readIfThere(join(root, CONFIG_FILE)));
  return (field) => {
    const list = shared && findNodeAtLocation(shared, ['packageSteps', name, field]);
    return (list?.children ?? []).map((child): unknown => child.value);
  };
}

function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '{}';
}

/** Paths from the root as a file in that folder would write them. */
export function asWrittenBy({ folder }: Pick<Step, 'folder'>, path: string): string {
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

/** A file that somebody changed meanwhile is theirs. */
function replaceFile(file: string, before: string, after: string): void {
  if (readFileSync(file, 'utf8') !== before)
    throw new AssayError('ASSAY_CONFIG', `${file} changed while it was being edited`);
  const staged = `${file}.${process.pid}.tmp`;
  writeFileSync(staged, after);
  renameSync(staged, file);
}
