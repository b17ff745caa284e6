// Adds a dependency where a step reads an output of another step without a `dependsOn`. It applies if an
// input, a tool, or the fixed part of a pattern lies at or below the output, or if the pattern takes the output
// in a folder that .gitignore hides. Only declarations and ignore rules decide, not the files on disk.
import { posix } from 'node:path';
import { type RelPath, ROOT, relPathFromUser } from '../../core/path.ts';
import type { InputPattern } from '../action/request.ts';
import type { IgnoredPaths } from '../inputs/ignored-paths.ts';
import { alternativesIn, exclusionsOf, includedBy, reachOf } from '../inputs/pattern-reach.ts';
import { OutputIndex } from './output-index.ts';
import type { ImpliedInput, Step } from './step.ts';

export function withImpliedDependencies(steps: readonly Step[], ignored: IgnoredPaths): Step[] {
  const made = new OutputIndex(steps);
  return steps.map((step) => {
    const named = [...impliedInputs(step, made), ...inIgnoredFolders(step, made, ignored)];
    const implied = named.filter(({ maker }) => !step.dependsOn.includes(maker));
    const makers = new Set(implied.map(({ maker }) => maker));
    return {
      ...step,
      inputs: [...step.inputs, ...excludedOutputs(step, made)],
      dependsOn: [...step.dependsOn, ...makers],
      implied,
    };
  });
}

function impliedInputs(step: Step, made: OutputIndex): ImpliedInput[] {
  return namedPaths(step).flatMap((read) => {
    const found = made.around(read);
    return found && found.maker !== step.id ? [{ read, output: found.path, maker: found.maker }] : [];
  });
}

/**
 * A wildcard takes nothing that .gitignore hides, except outputs of earlier steps. So a pattern in an ignored
 * folder names the outputs there, and would otherwise match nothing.
 */
function inIgnoredFolders(step: Step, made: OutputIndex, ignored: IgnoredPaths): ImpliedInput[] {
  if (step.includeIgnored) return [];
  const exclusions = exclusionsOf(step.inputs);
  return includedBy(step.inputs.filter(({ optional }) => !optional)).flatMap((taken) => {
    const { fixed, wild } = taken;
    const outputs = wild.length === 0 || fixed === ROOT ? [] : [...made.below(fixed)];
    const read = outputs.filter(({ path, maker }) => {
      const { itself, below } = reachOf(taken, path);
      return maker !== step.id && (itself || below) && !exclusions.has(path);
    });
    if (read.length === 0 || !ignored.hides(fixed, true)) return [];
    return read.map(({ path, maker }) => ({ read: fixed, output: path, maker }));
  });
}

/** The paths that a step reads: of a pattern, the part before the first wildcard. */
function namedPaths(step: Step): RelPath[] {
  const exclusions = exclusionsOf(step.inputs);
  const inputs = includedBy(step.inputs)
    .filter(({ fixed, wild }) =>
      wild.length === 0 ? !exclusions.has(fixed) : !exclusions.hasAllBelow(fixed),
    )
    .map(({ fixed }) => fixed);
  return [...inputs, ...namedPrograms(step)];
}

/** Programs given by a path in the workspace: of the command, of a shell line, and declared tools. */
function namedPrograms({ command, workingDirectory, programs, tools }: Step): RelPath[] {
  const own = command[0].includes('/') ? [posix.join(workingDirectory, command[0])] : [];
  const isAbsolute = command[0].startsWith('/');
  return [...(isAbsolute ? [] : own), ...[...programs, ...tools].filter((name) => /^[^/].*\//.test(name))]
    .map((path) => posix.normalize(path))
    .filter((path) => path !== '..' && !path.startsWith('../'))
    .map(relPathFromUser);
}

/** "!main/**" excludes `main` itself too, because the name does not show whether it is a folder. */
function excludedOutputs({ id, inputs }: Step, made: OutputIndex): InputPattern[] {
  return inputs.flatMap(({ pattern }) => {
    const folder = /^!(.+)\/\*\*$/s.exec(pattern)?.[1];
    const [named, ...others] = folder === undefined ? [] : alternativesIn(folder);
    if (!named || others.length > 0 || named.wild.length > 0) return [];
    const output = made.around(named.fixed);
    const isWhole = output?.path === named.fixed && output.maker !== id;
    return isWhole ? [{ pattern: `!${folder}`, optional: true }] : [];
  });
}
