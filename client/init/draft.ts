// The text of a first assay.json: what was observed, with a remark wherever it is not sure.
import { type RelPath, ROOT } from '../../core/path.ts';
import { asWrittenBy } from '../config/edit.ts';
import type { Package } from '../config/packages.ts';
import type { ObservedStep } from './observed-step.ts';

export interface DraftStep {
  readonly owner: Package;
  readonly name: string;
  /** Absent where the script of the same name says it. */
  readonly command?: readonly string[];
  readonly observed: ObservedStep;
}

const SCHEMA = 'node_modules/assay/schema/assay.schema.json';

/** The file of one package; `all` are the steps of every package. */
export function draftText(folder: RelPath, all: readonly DraftStep[]): string {
  const own = all.filter(({ owner }) => owner.folder === folder);
  const bodies = own.map((step) => stepText(step, all)).join(',\n');
  const steps = bodies === '' ? '{}' : `{\n${bodies}\n  }`;
  return `{\n  "$schema": ${JSON.stringify(`${wayUp(folder)}${SCHEMA}`)},\n  "steps": ${steps}\n}\n`;
}

function wayUp(folder: RelPath): string {
  return folder === ROOT ? './' : '../'.repeat(folder.split('/').length);
}

function stepText(step: DraftStep, all: readonly DraftStep[]): string {
  const { name, command, observed, owner } = step;
  const before = all.filter((other) => other !== step && feeds(other.observed, observed));
  const made = before.flatMap((other) => other.observed.outputs);
  const isMade = (input: string) => made.some((output) => input === output || input === `${output}/**`);
  const written = (paths: readonly string[]) => paths.map((path) => asWrittenBy(owner, path));
  const fields: Record<string, unknown> = {
    ...(command && { command }),
    inputs: written(observed.inputs.filter((input) => !isMade(input))),
    ...(observed.outputs.length > 0 && { outputs: written(observed.outputs) }),
    ...(observed.tools.length > 0 && { tools: observed.tools }),
    ...(before.length > 0 && { dependsOn: [...new Set(before.map((other) => seenFrom(owner, other)))] }),
    ...(observed.readsPackages && { observed: true }),
  };
  const lines = Object.entries(fields).map(
    ([field, value]) => `      ${JSON.stringify(field)}: ${JSON.stringify(value)}`,
  );
  const remarks = observed.unsure
    .map((remark) => `    // Not sure: ${remark.replaceAll('\n', ' ')}\n`)
    .join('');
  return `${remarks}    ${JSON.stringify(name)}: {\n${lines.join(',\n')}\n    }`;
}

/** A step as a package names it among those that come before. */
function seenFrom({ folder, dependencies }: Package, { owner, name }: DraftStep): string {
  if (owner.folder === folder) return name;
  if (dependencies.includes(owner.name)) return `^${name}`;
  return `${owner.folder === ROOT ? '//' : owner.name}#${name}`;
}

/** One that reads what the other makes comes after it. */
function feeds(maker: ObservedStep, reader: ObservedStep): boolean {
  return maker.outputs.some((output) =>
    reader.inputs.some(
      (input) => input === output || input === `${output}/**` || input.startsWith(`${output}/`),
    ),
  );
}
