// Adds declarations to a step where it is written, keeping comments and layout: what `--fix` needs.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyEdits, findNodeAtLocation, modify, parseTree } from 'jsonc-parser';
import { AssayError } from '../../core/errors.ts';
import { ROOT } from '../../core/path.ts';
import type { Step } from './step.ts';

/** A list of a step, and what is to stand in it, as the package's file writes it. */
export interface Addition {
  readonly field: 'inputs' | 'optionalInputs' | 'outputs' | 'env' | 'tools' | 'dependsOn';
  readonly value: string;
}

/** How many were added; those that stand there already are left alone. */
export function addToStep(root: string, step: Step, additions: readonly Addition[]): number {
  const file = join(root, step.source.file);
  const before = readFileSync(file, 'utf8');
  let text = before;
  let added = 0;
  for (const addition of additions) {
    const changed = withAddition(text, step.source.path, addition);
    if (changed === text) continue;
    text = changed;
    added++;
  }
  if (added > 0) replaceFile(file, before, text);
  return added;
}

/** Paths from the root as a file in that folder would write them. */
export function asWrittenBy({ folder }: Pick<Step, 'folder'>, path: string): string {
  if (folder === ROOT) return path;
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : `//${path}`;
}

function withAddition(text: string, path: Step['source']['path'], { field, value }: Addition): string {
  const list = findNodeAtLocation(parseTree(text) ?? { type: 'object', offset: 0, length: 0 }, [
    ...path,
    field,
  ]);
  const known: unknown[] = (list?.children ?? []).map((child) => child.value);
  if (known.includes(value)) return text;
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? '  ';
  const formattingOptions = { insertSpaces: !indent.includes('\t'), tabSize: indent.length, eol: '\n' };
  const edits = list
    ? modify(text, [...path, field, known.length], value, { formattingOptions, isArrayInsertion: true })
    : modify(text, [...path, field], [value], { formattingOptions });
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
