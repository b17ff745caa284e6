// The differences between two actions, by name: from their Action, Command and Directory messages, or from what
// is known of them without values (outline.ts).
import { type Digest, type Hash, parseDigest } from '../../core/digest.ts';
import type { FactGroup } from '../../core/metadata/run-report.ts';
import { join, parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import { Directory } from '../../core/proto/generated/reapi.ts';
import { readBlob } from '../shared/read-blob.ts';
import type { BlobReader } from '../store.ts';
import { readAction } from './stored-action.ts';

export type KeyDifference =
  | { readonly kind: 'input'; readonly change: 'changed' | 'added' | 'removed'; readonly path: RelPath }
  | { readonly kind: 'variable'; readonly name: string; readonly before?: string; readonly after?: string }
  | { readonly kind: 'tool'; readonly name: string; readonly change: 'changed' | 'added' | 'removed' }
  | { readonly kind: 'platform'; readonly name: string; readonly before?: string; readonly after?: string }
  | { readonly kind: 'command'; readonly before: readonly string[]; readonly after: readonly string[] }
  | { readonly kind: 'working-directory'; readonly before: string; readonly after: string }
  | { readonly kind: 'output'; readonly change: 'added' | 'removed'; readonly path: string }
  | { readonly kind: 'key-version'; readonly before: string; readonly after: string }
  | FactChange;

/** A fact beyond the declaration that the result depends on, and its states: that of the earlier run, and now. */
export interface FactChange {
  readonly kind: 'fact';
  readonly group: FactGroup;
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** What of an action is compared. Digests may stand for the words and the values, in both actions. */
export interface ComparedAction {
  readonly keyVersion: string;
  readonly command: readonly string[];
  readonly workingDirectory: string;
  readonly outputs: readonly string[];
  readonly variables: ReadonlyMap<string, string>;
  readonly properties: ReadonlyMap<string, string>;
  readonly inputRoot: Digest;
}

type ReadDirectory = (digest: Digest) => Promise<Uint8Array>;

/** Empty if the two are equal. Throws if the store no longer has one of them. */
export async function differences(before: Hash, after: Hash, blobs: BlobReader): Promise<KeyDifference[]> {
  const [old, now] = await Promise.all([readCompared(before, blobs), readCompared(after, blobs)]);
  return compareActions(old, now, ({ hash }) => readBlob(hash, blobs));
}

export async function readCompared(key: Hash, blobs: BlobReader): Promise<ComparedAction> {
  const { command, platform, inputRoot, keyVersion } = await readAction(key, blobs);
  return {
    keyVersion,
    command: command.arguments,
    workingDirectory: command.workingDirectory,
    outputs: command.outputPaths,
    variables: new Map(command.environmentVariables.map(({ name, value }) => [name, value])),
    properties: platform,
    inputRoot,
  };
}

export async function compareActions(
  old: ComparedAction,
  now: ComparedAction,
  read: ReadDirectory,
): Promise<KeyDifference[]> {
  return [
    ...keyVersions(old, now),
    ...commands(old, now),
    ...properties(old.properties, now.properties),
    ...(await inputs(old.inputRoot, now.inputRoot, read)),
  ];
}

function keyVersions(old: ComparedAction, now: ComparedAction): KeyDifference[] {
  if (old.keyVersion === now.keyVersion) return [];
  return [{ kind: 'key-version', before: old.keyVersion, after: now.keyVersion }];
}

function commands(old: ComparedAction, now: ComparedAction): KeyDifference[] {
  const found: KeyDifference[] = [];
  if (old.command.join('\0') !== now.command.join('\0'))
    found.push({ kind: 'command', before: old.command, after: now.command });
  if (old.workingDirectory !== now.workingDirectory) {
    found.push({ kind: 'working-directory', before: old.workingDirectory, after: now.workingDirectory });
  }
  for (const path of now.outputs) {
    if (!old.outputs.includes(path)) found.push({ kind: 'output', change: 'added', path });
  }
  for (const path of old.outputs) {
    if (!now.outputs.includes(path)) found.push({ kind: 'output', change: 'removed', path });
  }
  for (const change of changedKeys(old.variables, now.variables)) found.push({ kind: 'variable', ...change });
  return found;
}

type Properties = ReadonlyMap<string, string>;

function properties(old: Properties, now: Properties): KeyDifference[] {
  return changedKeys(old, now).map(({ name, before, after }): KeyDifference => {
    const [, tool] = /^(?:tool|program):(.*)$/s.exec(name) ?? [];
    if (tool === undefined) return { kind: 'platform', name, ...defined(before, after) };
    const change = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
    return { kind: 'tool', name: tool, change };
  });
}

interface ChangedKey {
  readonly name: string;
  readonly before?: string;
  readonly after?: string;
}

function changedKeys(old: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): ChangedKey[] {
  const names = [...new Set([...old.keys(), ...now.keys()])].sort();
  return names
    .filter((name) => old.get(name) !== now.get(name))
    .map((name) => ({ name, ...defined(old.get(name), now.get(name)) }));
}

function defined(before: string | undefined, after: string | undefined): { before?: string; after?: string } {
  return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

/** Descends only into directories that differ. */
async function inputs(
  old: Digest,
  now: Digest,
  read: ReadDirectory,
  at: RelPath = ROOT,
): Promise<KeyDifference[]> {
  if (old.hash === now.hash) return [];
  const [before, after] = [Directory.decode(await read(old)), Directory.decode(await read(now))];
  const found: KeyDifference[] = [];
  for (const { name, before: was, after: is } of changedKeys(leaves(before), leaves(after))) {
    const change = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
    found.push({ kind: 'input', change, path: join(at, parseRelPath(name)) });
  }
  const [oldFolders, newFolders] = [folders(before), folders(after)];
  for (const name of [...new Set([...oldFolders.keys(), ...newFolders.keys()])].sort()) {
    const path = join(at, parseRelPath(name));
    const [was, is] = [oldFolders.get(name), newFolders.get(name)];
    if (was && is) found.push(...(await inputs(was, is, read, path)));
    else found.push({ kind: 'input', change: is ? 'added' : 'removed', path });
  }
  return found;
}

/**
 * The files and links of one directory; the value changes with the content, the executable bit or the target.
 */
function leaves(directory: Directory): Map<string, string> {
  return new Map([
    ...directory.files.map((file): [string, string] => [
      file.name,
      `${file.digest?.hash} ${file.isExecutable}`,
    ]),
    ...directory.symlinks.map((link): [string, string] => [link.name, `-> ${link.target}`]),
  ]);
}

function folders(directory: Directory): Map<string, Digest> {
  return new Map(
    directory.directories.map(({ name, digest }) => [
      name,
      parseDigest(digest ?? { hash: '', sizeBytes: 0 }),
    ]),
  );
}
