// What a first configuration could be about: the scripts of a package.json, or the targets of a Makefile.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { usage } from '../../core/command.ts';
import { AssayError } from '../../core/errors.ts';

export interface CandidateStep {
  readonly name: string;
  /** A line for the shell, as package.json has it; or the words of a command. */
  readonly command: string | readonly [string, ...string[]];
}

/** Names of work that ends by itself and makes something of what is there. */
const USUAL = [
  'generate',
  'codegen',
  'build',
  'compile',
  'typecheck',
  'lint',
  'test',
  'check',
  'all',
  'docs',
];

/** Those that were asked for; else those whose names say that they end. */
export function candidateSteps(root: string, names: readonly string[]): CandidateStep[] {
  const known = [...scriptsOf(root), ...targetsOf(root)];
  if (known.length === 0)
    throw new AssayError(
      'ASSAY_USAGE',
      `there are neither scripts in a package.json nor a Makefile in ${root}`,
    );
  const unknown = names.find((name) => !known.some((one) => one.name === name));
  if (unknown !== undefined)
    throw usage(
      `there is no script or target ${unknown}; there are ${known.map(({ name }) => name).join(', ')}`,
    );
  const wanted = names.length > 0 ? names : USUAL;
  const unique = new Map(known.toReversed().map((one) => [one.name, one]));
  const chosen = wanted.flatMap((name) => unique.get(name) ?? []);
  if (chosen.length > 0) return chosen;
  throw usage(`which scripts or targets? There are ${known.map(({ name }) => name).join(', ')}`);
}

function scriptsOf(root: string): CandidateStep[] {
  const text = read(join(root, 'package.json'));
  if (text === undefined) return [];
  const { scripts = {} }: { scripts?: Record<string, unknown> } = JSON.parse(text);
  return Object.entries(scripts).flatMap(([name, command]) =>
    typeof command === 'string' && /^[\w:.-]+$/.test(name) ? [{ name, command }] : [],
  );
}

/** Rules with a plain name; patterns, variables and special targets are none that a person would ask for. */
function targetsOf(root: string): CandidateStep[] {
  const text = read(join(root, 'Makefile')) ?? read(join(root, 'makefile')) ?? '';
  const names = [...text.matchAll(/^([A-Za-z0-9][\w.-]*)\s*:(?!=)/gm)].map(([, name = '']) => name);
  return [...new Set(names)].map((name) => ({ name, command: ['make', name] }));
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
