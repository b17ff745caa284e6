// Encodes a declaration as REAPI Action and Command messages. The digest of the Action is the key.
// The same declaration gives the same bytes on every machine.
//
// Lists whose order has no meaning are sorted here. A Declaration has no field for what differs between two
// checkouts: times, absolute paths, undeclared variables.
import { type Digest, digestOf, toWire } from './digest.ts';
import { KEY_VERSION } from './key-version.ts';
import { compareNames, type RelPath, relativeTo } from './path.ts';
import { Action, Command } from './proto/generated/reapi.ts';

export interface Property {
  readonly name: string;
  readonly value: string;
}

export interface Declaration {
  readonly arguments: readonly string[];
  readonly workingDirectory: RelPath;
  readonly environment: readonly Property[];
  readonly outputs: readonly RelPath[];
  /**
   * os, arch, libc, and one property for each tool: the only facts about the machine that are part of the
   * key.
   */
  readonly platform: readonly Property[];
  readonly inputRoot: Digest;
}

export interface EncodedAction {
  /** The digest of the Action: the key under which its result is stored. */
  readonly key: Digest;
  readonly action: Uint8Array;
  readonly command: Uint8Array;
}

export function encodeAction(declaration: Declaration): EncodedAction {
  const command = Command.encode({
    arguments: [...declaration.arguments],
    environmentVariables: sorted(declaration.environment),
    outputFiles: [],
    outputDirectories: [],
    workingDirectory: declaration.workingDirectory,
    outputPaths: outputPathsOf(declaration),
    outputNodeProperties: [],
  }).finish();
  const action = Action.encode({
    commandDigest: toWire(digestOf(command)),
    inputRootDigest: toWire(declaration.inputRoot),
    doNotCache: false,
    salt: Buffer.from(KEY_VERSION),
    platform: { properties: sorted(declaration.platform) },
  }).finish();
  return { key: digestOf(action), action, command };
}

/** Output paths as REAPI wants them: relative to the working directory, sorted, each once. */
function outputPathsOf(declaration: Declaration): string[] {
  const paths = declaration.outputs.map((path) => relativeTo(declaration.workingDirectory, path));
  return [...new Set(paths)].sort(compareNames);
}

function sorted(properties: readonly Property[]): Property[] {
  return properties
    .map(({ name, value }) => ({ name, value }))
    .sort((a, b) => compareNames(a.name, b.name) || compareNames(a.value, b.value));
}
