// Finds the outputs among a request's arguments. Bazel does not name them, so the author of the rule does:
//
//   --assay-output=PATH     in the request's arguments; for Assay only, the tool never gets it
//   --output-flag NAME      on Assay's command line: the value of NAME in a request (`NAME PATH` or `NAME=PATH`)
import { lstatSync } from 'node:fs';
import { refuseReserved } from '../../client/action/reserved.ts';
import { usage } from '../../core/cli/command.ts';
import { type RelPath, ROOT, relPathFromUser, toSystemPath } from '../../core/path.ts';

const MARKER = '--assay-output=';

interface NamedOutputs {
  /** The arguments for the tool. */
  readonly args: readonly string[];
  readonly outputs: readonly RelPath[];
}

export function namedOutputs(sent: readonly string[], flags: readonly string[]): NamedOutputs {
  const marked = sent.flatMap((arg) => (arg.startsWith(MARKER) ? [arg.slice(MARKER.length)] : []));
  const args = sent.filter((arg) => !arg.startsWith(MARKER));
  const flagged = flags.flatMap((flag) => valuesOf(flag, args));
  const outputs = [...new Set([...marked, ...flagged].map(relPathFromUser))];
  if (outputs.includes(ROOT)) throw usage('an output can’t be the whole workspace');
  for (const path of outputs) refuseReserved(path);
  return { args, outputs };
}

function valuesOf(flag: string, args: readonly string[]): string[] {
  return args.flatMap((arg, at) => {
    if (arg.startsWith(`${flag}=`)) return [arg.slice(flag.length + 1)];
    if (arg !== flag) return [];
    const value = args[at + 1];
    if (value === undefined) throw usage(`${flag} needs a value: the path of an output`);
    return [value];
  });
}

/**
 * The paths among the arguments that do not exist yet. One that exists afterwards and is no named output was
 * made by the tool: a result without it would leave Bazel waiting for a file.
 */
export function absentPaths(args: readonly string[], workspace: string): RelPath[] {
  const texts = args.flatMap((arg) => [arg, arg.slice(arg.indexOf('=') + 1)]);
  return [...new Set(texts)].flatMap((text) => {
    try {
      const path = relPathFromUser(text);
      return isThere(path, workspace) ? [] : [path];
    } catch {
      return [];
    }
  });
}

export function isThere(path: RelPath, workspace: string): boolean {
  try {
    return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
