// A step that reads what another step makes depends on it, whether `dependsOn` says so or not: an input or a program that lies
// at or below an output of the other, or a pattern whose fixed part does. The declarations alone decide, not what is on disk.
import { posix } from 'node:path';
import { type RelPath, relPathFromUser } from '../../core/path.ts';
import type { InputPattern } from '../action/request.ts';
import { alternativesIn, exclusionsOf, includedBy } from '../inputs/pattern-reach.ts';
import { MadePaths } from './made-paths.ts';
import type { MadeInput, Step } from './step.ts';

/** The steps with these dependencies added to those that are written. */
export function withImpliedDependencies(steps: readonly Step[]): Step[] {
  const made = new MadePaths(steps);
  return steps.map((step) => {
    const implied = madeInputs(step, made).filter(({ maker }) => !step.dependsOn.includes(maker));
    const makers = new Set(implied.map(({ maker }) => maker));
    return {
      ...step,
      inputs: [...step.inputs, ...excludedOutputs(step, made)],
      dependsOn: [...step.dependsOn, ...makers],
      implied,
    };
  });
}

function madeInputs(step: Step, made: MadePaths): MadeInput[] {
  return namedPaths(step).flatMap((read) => {
    const found = made.around(read);
    return found && found.maker !== step.id ? [{ read, output: found.path, maker: found.maker }] : [];
  });
}

/** The paths that a step names as something that it reads: of inputs with wildcards, the part before the first. */
function namedPaths(step: Step): RelPath[] {
  const exclusions = exclusionsOf(step.inputs);
  const inputs = includedBy(step.inputs)
    .filter(({ fixed, wild }) =>
      wild.length === 0 ? !exclusions.has(fixed) : !exclusions.hasAllBelow(fixed),
    )
    .map(({ fixed }) => fixed);
  return [...inputs, ...namedPrograms(step)];
}

/** Programs by path, in the workspace: the command's own, those of a shell line, and the declared tools. */
function namedPrograms({ command, workingDirectory, programs, tools }: Step): RelPath[] {
  const own = command[0].includes('/') ? [posix.join(workingDirectory, command[0])] : [];
  const isAbsolute = command[0].startsWith('/');
  return [...(isAbsolute ? [] : own), ...[...programs, ...tools].filter((name) => /^[^/].*\//.test(name))]
    .map((path) => posix.normalize(path))
    .filter((path) => path !== '..' && !path.startsWith('../'))
    .map(relPathFromUser);
}

/** "!main/**" leaves out `main` itself, too: nobody can tell from its name whether it is a folder. */
function excludedOutputs({ id, inputs }: Step, made: MadePaths): InputPattern[] {
  return inputs.flatMap(({ pattern }) => {
    const folder = /^!(.+)\/\*\*$/s.exec(pattern)?.[1];
    const [named, ...others] = folder === undefined ? [] : alternativesIn(folder);
    if (!named || others.length > 0 || named.wild.length > 0) return [];
    const output = made.around(named.fixed);
    const isWhole = output?.path === named.fixed && output.maker !== id;
    return isWhole ? [{ pattern: `!${folder}`, optional: true }] : [];
  });
}
