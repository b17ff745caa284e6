// A case as text: the project, the script of what was done, and what differed.
import type { Report } from './case.ts';
import { flagsOf } from './clone.ts';
import type { Plan } from './plan.ts';

export function textOf(plan: Plan, report: Report, only?: ReadonlySet<number>): string {
  const { seed, recipe, isGraph, hasGit, hasOneStore, jobs, steps } = plan;
  const ways = [isGraph ? `graph --jobs ${jobs}` : 'commands', hasGit && 'git', hasOneStore && 'one store'];
  const repeat = `npm run test:oracle -- --seed ${seed}${only ? ` --only ${[...only].join()}` : ''}`;
  return [
    `--- seed ${seed}: ${recipe.name} (${ways.filter(Boolean).join(', ')})`,
    `    ${repeat}`,
    ...steps.map(
      (step) => `    ${step.name}: assay run ${[...flagsOf(step), '--', ...step.argv].map(quoted).join(' ')}`,
    ),
    `    files: ${JSON.stringify(Object.fromEntries(Object.entries(recipe.files).map(([path, [text]]) => [path, text])))}`,
    `    .gitignore: ${JSON.stringify(recipe.ignored ?? '')}`,
    ...report.script,
    ...report.differences.flatMap(({ kind, operation, lines }) => [
      `*** ${kind} after operation ${operation}`,
      ...lines.map((line) => `      ${line}`),
    ]),
  ].join('\n');
}

function quoted(word: string): string {
  return /^[\w./=-]+$/.test(word) ? word : `'${word}'`;
}
