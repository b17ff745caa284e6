// The details of one action in the store, for `assay show`: its command, inputs, tools, result and evidence.
import { posix } from 'node:path';
import { type Hash, parseDigest } from '../../core/digest.ts';
import { decodeEvidence, type Evidence, type EvidenceStatus, evidenceStatusOf } from '../../core/evidence.ts';
import { type Receipt, receiptOf } from '../../core/metadata/receipt.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { childOf, type RelPath, ROOT } from '../../core/path.ts';
import { type ObservedPath, type PathSet, recordedState } from '../../core/path-set.ts';
import { type ActionResult, type Command, Directory } from '../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../core/result.ts';
import { decodeTree } from '../../core/tree.ts';
import { readAction } from '../../store/actions/stored-action.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Blobs, Store } from '../../store/store.ts';
import { looksSecretVariable } from '../action/environment.ts';
import { candidates } from '../path-sets/path-sets.ts';
import { shownFact, WORKSPACE } from '../path-sets/roots.ts';
import { localPathSets } from '../path-sets/storage.ts';

export interface ActionDetails {
  readonly key: Hash;
  readonly command: readonly string[];
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly platform: Readonly<Record<string, string>>;
  readonly tools: Readonly<Record<string, string>>;
  readonly inputs: readonly FileDetails[];
  readonly declaredOutputs: readonly string[];
  /** Absent if the store has the action but no result. */
  readonly result?: ResultDetails;
}

/** Paths are relative to the workspace. */
export interface FileDetails {
  readonly path: string;
  readonly hash?: string;
  readonly size?: number;
  readonly target?: string;
}

export interface ResultDetails {
  readonly exitCode: number;
  readonly worker: string;
  readonly startedAt?: string;
  readonly commandMs?: number;
  /** Whose run made it. */
  readonly receipt: Receipt;
  readonly outputs: readonly FileDetails[];
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  /** What is known of the run that made it, and what a tracer saw. */
  readonly status: EvidenceStatus;
  readonly evidence?: Evidence;
  /** What else must be the same for a hit: paths, libraries of the loader, properties of the machine. */
  readonly facts: readonly FactDetails[];
}

export interface FactDetails {
  /** In words, such as "libz.so.1 in /etc/ld.so.cache". */
  readonly what: string;
  readonly state: string;
  /** Why the result depends on it; "" if it was just looked at. */
  readonly note: string;
}

export async function actionDetails(key: Hash, store: Store): Promise<ActionDetails> {
  const { command, platform, inputRoot } = await readAction(key, store.blobs);
  const properties = [...platform];
  const tools = properties.filter(([name]) => /^(tool|program):/.test(name));
  const stored = await storedResult(key, store);
  return {
    key,
    command: command.arguments,
    workingDirectory: command.workingDirectory,
    environment: Object.fromEntries(
      command.environmentVariables.map(({ name, value }) => [
        name,
        looksSecretVariable(name) ? '(hidden)' : value,
      ]),
    ),
    platform: Object.fromEntries(properties.filter(([name]) => !/^(tool|program):/.test(name))),
    tools: Object.fromEntries(tools.map(([name, value]) => [name.replace(/^(tool|program):/, ''), value])),
    inputs: await filesBelow(inputRoot.hash, ROOT, store.blobs),
    declaredOutputs: command.outputPaths.map((path) => fromRoot(command, path)),
    ...(stored && { result: await resultOf(stored, command, store.blobs) }),
  };
}

/** Follows the states that the path sets recorded, not the current ones: the files may have changed since. */
async function storedResult(key: Hash, store: Store): Promise<FoundResult | undefined> {
  const found = candidates({ hash: key, size: 0 }, localPathSets(store), recordedState);
  for await (const { key: at, set = [] } of found) {
    const stored = await store.results.get({ namespace: DEFAULT_NAMESPACE, key: at.hash });
    if (stored) return { result: decodeResult(stored.bytes), set };
  }
  return undefined;
}

interface FoundResult {
  readonly result: ActionResult;
  readonly set: PathSet;
}

function factOf(seen: ObservedPath): FactDetails {
  const { root, path, names, state, note } = seen;
  const place = root === '' ? `/${path}` : root === WORKSPACE ? path : `${root}/${path}`;
  return { what: shownFact(seen) ?? (names ? `the names in ${place || '.'}` : place || '.'), state, note };
}

async function filesBelow(hash: Hash, at: RelPath, blobs: Blobs): Promise<FileDetails[]> {
  const folder = Directory.decode(await readBlob(hash, blobs));
  const pathOf = (name: string) => (at === ROOT ? name : `${at}/${name}`);
  const files = folder.files.map(({ name, digest }) => ({
    path: pathOf(name),
    hash: digest?.hash ?? '',
    size: digest?.sizeBytes ?? 0,
  }));
  const links = folder.symlinks.map(({ name, target }) => ({ path: pathOf(name), target }));
  const deeper: FileDetails[] = [];
  for (const { name, digest } of folder.directories) {
    const child = parseDigest(digest ?? { hash: '', sizeBytes: 0 });
    deeper.push(...(await filesBelow(child.hash, childOf(at, name), blobs)));
  }
  return [...files, ...links, ...deeper].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * The store names outputs relative to the working directory; the details name them relative to the workspace.
 */
function fromRoot({ workingDirectory }: Pick<Command, 'workingDirectory'>, path: string): string {
  return posix.join(workingDirectory, path);
}

async function resultOf(
  { result, set }: FoundResult,
  command: Command,
  blobs: Blobs,
): Promise<ResultDetails> {
  const metadata = result.executionMetadata;
  const evidence = decodeEvidence(metadata?.auxiliaryMetadata ?? []);
  const { executionStartTimestamp: start, executionCompletedTimestamp: end } = metadata ?? {};
  const milliseconds = (time: typeof start) => (time ? time.seconds * 1000 + time.nanos / 1e6 : undefined);
  const [startedAt, endedAt] = [milliseconds(start), milliseconds(end)];
  return {
    exitCode: result.exitCode,
    worker: metadata?.worker ?? '',
    ...(startedAt !== undefined && { startedAt: new Date(startedAt).toISOString() }),
    ...(startedAt !== undefined && endedAt !== undefined && { commandMs: Math.round(endedAt - startedAt) }),
    receipt: receiptOf(result),
    outputs: (await outputsOf(result, blobs)).map((file) => ({
      ...file,
      path: fromRoot(command, file.path),
    })),
    stdoutBytes: result.stdoutDigest?.sizeBytes ?? result.stdoutRaw.length,
    stderrBytes: result.stderrDigest?.sizeBytes ?? result.stderrRaw.length,
    status: evidenceStatusOf(evidence),
    ...(evidence && { evidence }),
    facts: set.map(factOf),
  };
}

async function outputsOf(result: ActionResult, blobs: Blobs): Promise<FileDetails[]> {
  const shown: FileDetails[] = [
    ...result.outputFiles.map(({ path, digest }) => ({
      path,
      hash: digest?.hash ?? '',
      size: digest?.sizeBytes ?? 0,
    })),
    ...result.outputSymlinks.map(({ path, target }) => ({ path, target })),
  ];
  for (const { path, treeDigest } of result.outputDirectories) {
    const tree = await readBlob(parseDigest(treeDigest ?? { hash: '', sizeBytes: 0 }).hash, blobs);
    for (const entry of decodeTree(tree)) {
      const at = `${path}/${entry.path}`;
      if (entry.kind === 'file') shown.push({ path: at, hash: entry.digest.hash, size: entry.digest.size });
      else if (entry.kind === 'symlink') shown.push({ path: at, target: entry.target });
    }
  }
  return shown;
}
