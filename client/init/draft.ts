// The text of a first assay.json: what was observed, with a remark wherever it is not sure.
import type { ObservedStep } from './observed-step.ts';

export interface DraftStep {
  readonly name: string;
  /** Absent where the script of the same name says it. */
  readonly command?: readonly string[];
  readonly observed: ObservedStep;
}

const SCHEMA = './node_modules/assay/schema/assay.schema.json';

export function draftText(steps: readonly DraftStep[]): string {
  const bodies = steps.map((step) => stepText(step, steps)).join(',\n');
  return `{\n  "$schema": ${JSON.stringify(SCHEMA)},\n  "steps": {\n${bodies}\n  }\n}\n`;
}

function stepText({ name, command, observed }: DraftStep, all: readonly DraftStep[]): string {
  const before = all.filter((other) => other.name !== name && feeds(other.observed, observed));
  const made = before.flatMap((other) => other.observed.outputs);
  const isMade = (input: string) => made.some((output) => input === output || input === `${output}/**`);
  const fields: Record<string, unknown> = {
    ...(command && { command }),
    inputs: observed.inputs.filter((input) => !isMade(input)),
    ...(observed.outputs.length > 0 && { outputs: observed.outputs }),
    ...(observed.tools.length > 0 && { tools: observed.tools }),
    ...(before.length > 0 && { dependsOn: before.map((other) => other.name) }),
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

/** One that reads what the other makes comes after it. */
function feeds(maker: ObservedStep, reader: ObservedStep): boolean {
  return maker.outputs.some((output) =>
    reader.inputs.some(
      (input) => input === output || input === `${output}/**` || input.startsWith(`${output}/`),
    ),
  );
}
