// The lines of `assay init` about programs that it did not find.
// One line for each program and remedy. It names only dependencies that a package.json declares.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Package } from '../../client/config/packages.ts';

/** A step whose command did not find a program. */
export interface LackingStep {
  readonly id: string;
  readonly owner: Package;
  /** Undefined if the command did not say which. */
  readonly program: string | undefined;
  /** Where the caller's PATH has the program. */
  readonly yours?: string | undefined;
}

export function missingProgramLines(
  lacking: readonly LackingStep[],
  root: string,
  rootPackage: Package,
): string[] {
  const groups = Map.groupBy(lacking, (step) => {
    const remedy = remedyFor(step, root, rootPackage);
    return `${step.program ?? 'a program'} was not found. ${remedy}, then run it again`;
  });
  return [...groups].map(([text, steps]) => `left out ${steps.map(({ id }) => id).join(', ')}: ${text}`);
}

function remedyFor({ owner, program, yours }: LackingStep, root: string, rootPackage: Package): string {
  if (yours !== undefined) return `It is ${yours} on your PATH: write the step with it in "tools"`;
  const packages = [owner, rootPackage];
  const has = (name: string) => packages.some(({ folder }) => existsSync(join(root, folder, name)));
  if (!has('package.json')) return 'Install it';
  const declared = packages.flatMap(({ dependencies }) => dependencies);
  const isIncomplete = !has('node_modules/.bin') || (program !== undefined && declared.includes(program));
  if (declared.length > 0 && isIncomplete) return 'Install your dependencies first';
  return 'No installed package has it: add the package that has it to your dependencies, or install it';
}
