// One action: its command, inputs, result, facts and log, as the reader's token may see them.
// Values of variables are left out: one of them may be a secret.
import { type Digest, type Hash, parseDigest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { decodeEvidence, evidenceStatusOf } from '../../../core/evidence.ts';
import { receiptOf } from '../../../core/metadata/receipt.ts';
import {
  type Namespace,
  type NamespaceRange,
  namespaceBelow,
  parseNamespace,
} from '../../../core/namespace.ts';
import { decodePathSet, MACHINE, type PathSet, resultKey } from '../../../core/path-set.ts';
import { type ActionResult, Directory } from '../../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../../core/result.ts';
import { decodeTree } from '../../../core/tree.ts';
import type { ScopedStore } from '../../../server/access/scoped-store.ts';
import { contentOf } from '../../../server/history/documents.ts';
import { decodeList, listAddress } from '../../../server/protocols/path-sets/list-record.ts';
import { causeOfDifference } from '../../../store/actions/miss.ts';
import { differenceText } from '../../../store/actions/miss-text.ts';
import { readAction } from '../../../store/actions/stored-action.ts';
import type { History, HistoryDocument } from '../../../store/history.ts';
import { readBlob } from '../../../store/shared/read-blob.ts';
import type { Blobs, StoredResult } from '../../../store/store.ts';
import type { Action, ActionDifference, ActionResultDetails, FileRow } from '../api/schemas/action.ts';
import type { DivergenceRow } from '../api/schemas/parts.ts';
import { DASHBOARD } from '../limits.ts';
import { logText } from '../log-text.ts';
import { differencesWithin } from '../runs/explain-misses.ts';
import type { StoredDetails, StoredRow } from '../runs/run-documents.ts';

const LISTED_RUNS = 20;

interface WantedAction {
  readonly key: Hash;
  /** As a run shows it. Undefined: the own one, then those of the runs with this action. */
  readonly namespace: string | undefined;
  /** The second result of a key, if there is one. */
  divergenceOf(resultKey: Hash): Promise<DivergenceRow | undefined>;
}

export async function showAction(
  store: ScopedStore,
  history: History,
  { key, namespace: named, divergenceOf }: WantedAction,
): Promise<Action> {
  const { command, platform, inputRoot } = await unlessGone(() => readAction(key, store.blobs));
  const properties = [...platform].map(([name, value]) => ({ name, value }));
  const isTool = ({ name }: { readonly name: string }) => /^(tool|program):/.test(name);
  const inputs = new FileList();
  await inputs.addBelow(inputRoot.hash, '', store.blobs);
  const seen = await runsWith(history, store.readable, key);
  const { namespace, found } = await findAnywhere(
    store,
    named === undefined ? ['', ...seen.namespaces] : [named],
    key,
  );
  const where = (path: string) => [command.workingDirectory, path].filter(Boolean).join('/');
  const divergence = found && (await divergenceOf(found.key));
  const result = found && (await detailsOf(found, store.blobs, where));
  return {
    key,
    namespace,
    command: command.arguments,
    workingDirectory: command.workingDirectory,
    variables: command.environmentVariables.map(({ name }) => name),
    platform: properties.filter((one) => !isTool(one)),
    tools: properties
      .filter(isTool)
      .map(({ name, value }) => ({ name: name.replace(/^(tool|program):/, ''), value })),
    inputs: inputs.rows,
    moreInputs: inputs.more,
    declaredOutputs: command.outputPaths.map(where),
    ...(result && { result: divergence ? { ...result, divergence } : result }),
    runs: seen.runs,
    others: seen.others,
  };
}

export async function compareStoredActions(
  store: ScopedStore,
  from: Hash,
  to: Hash,
): Promise<ActionDifference> {
  await unlessGone(() => readAction(from, store.blobs));
  await unlessGone(() => readAction(to, store.blobs));
  const found = await differencesWithin(from, to, store.blobs);
  return {
    from,
    to,
    differences: found
      .slice(0, DASHBOARD.listedFiles)
      .map((difference) => ({ text: differenceText(difference), cause: causeOfDifference(difference) })),
  };
}

async function unlessGone<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch {
    throw new AssayError('ASSAY_NOT_FOUND', 'the server has no action with this key, or no longer all of it');
  }
}

/**
 * A page names a namespace as a run shows it; a request names it below the one of its token. Where the token's
 * part ends is not shown, so a reader of the whole server tries each place.
 */
function requestsFor(shown: string, { readable }: ScopedStore): Namespace[] {
  const namespace = parseNamespace(shown);
  const below = (base: string) => parseNamespace(shown.slice(base.length + 1));
  if (readable !== undefined) {
    const bases = 'below' in readable ? readable.besides : readable;
    const base = bases.find((one) => shown === one || shown.startsWith(`${one}/`));
    return [base === undefined ? namespace : below(base)];
  }
  const parts = shown.split('/');
  const everyBase = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
  return [namespace, ...everyBase.map((base) => namespaceBelow(parseNamespace(base), below(base)))];
}

/** In the first of the namespaces that has it. */
async function findAnywhere(
  store: ScopedStore,
  namespaces: readonly string[],
  key: Hash,
): Promise<{ readonly namespace: string; readonly found: FoundResult | undefined }> {
  for (const namespace of namespaces)
    for (const requested of requestsFor(namespace, store)) {
      const found = await findResult(store, requested, key);
      if (found) return { namespace, found };
    }
  return { namespace: namespaces[0] ?? '', found: undefined };
}

interface FoundResult {
  /** Not the one of the action if the result depends on undeclared files. */
  readonly key: Hash;
  readonly stored: StoredResult;
  readonly set: PathSet;
}

/** Follows the states that the path sets recorded: nobody's files are compared here. */
async function findResult(
  store: ScopedStore,
  namespace: Namespace,
  key: Hash,
): Promise<FoundResult | undefined> {
  const direct = await store.results.get({ namespace, key });
  if (direct) return { key, stored: direct, set: [] };
  for await (const { bytes } of store.results.everywhere(listAddress(namespace, key))) {
    for (const { set: digest } of decodeList(bytes)) {
      const set = await pathSetAt(digest, store.blobs);
      if (!set) continue;
      const at = resultKey(key, set, ({ state }) => state);
      const stored = await store.results.get({ namespace, key: at.hash });
      if (stored) return { key: at.hash, stored, set };
    }
  }
  return undefined;
}

async function pathSetAt({ hash }: Digest, blobs: Blobs): Promise<PathSet | undefined> {
  try {
    return decodePathSet(await readBlob(hash, blobs));
  } catch {
    return undefined;
  }
}

async function detailsOf(
  { stored, set }: FoundResult,
  blobs: Blobs,
  where: (path: string) => string,
): Promise<ActionResultDetails> {
  const result = decodeResult(stored.bytes);
  const metadata = result.executionMetadata;
  const evidence = decodeEvidence(metadata?.auxiliaryMetadata ?? []);
  const commandMs = durationOf(metadata);
  const outputs = await outputsOf(result, blobs, where);
  const { writer } = stored;
  const { at, where: place, commit, assay } = receiptOf(result);
  return {
    exitCode: result.exitCode,
    ...(commandMs !== undefined && { commandMs }),
    outputs: outputs.rows,
    moreOutputs: outputs.more,
    stdout: await logText(result.stdoutDigest && parseDigest(result.stdoutDigest), result.stdoutRaw, blobs),
    stderr: await logText(result.stderrDigest && parseDigest(result.stderrDigest), result.stderrRaw, blobs),
    status: evidenceStatusOf(evidence),
    facts: set.map(({ root, path, names, state, note }) => ({
      what: factText(root, path, names),
      state,
      why: note,
    })),
    findings: (evidence?.findings ?? []).slice(0, DASHBOARD.listedFindings),
    receipt: {
      ...(at !== undefined && { at }),
      ...(place !== undefined && { where: place }),
      ...(commit !== undefined && { commit }),
      ...(assay !== undefined && { assay }),
    },
    ...(writer && {
      writer: { name: writer.name, protocol: writer.via, at: new Date(writer.at).toISOString() },
    }),
  };
}

function durationOf(metadata: ActionResult['executionMetadata']): number | undefined {
  const { executionStartTimestamp: start, executionCompletedTimestamp: end } = metadata ?? {};
  if (!start || !end) return undefined;
  return Math.round((end.seconds - start.seconds) * 1000 + (end.nanos - start.nanos) / 1e6);
}

function factText(root: string, path: string, names: boolean): string {
  if (root === MACHINE) return `${path} of the machine`;
  const place = root === '' ? `/${path}` : root === 'workspace' ? path || '.' : `${root}/${path}`;
  return names ? `the names in ${place}` : place;
}

/** A bounded list of files. */
class FileList {
  readonly rows: FileRow[] = [];
  more = 0;

  add(row: FileRow): void {
    if (this.rows.length < DASHBOARD.listedFiles) this.rows.push(row);
    else this.more++;
  }

  /** A folder that is gone is left out. What lies in folders beyond the bound is not counted. */
  async addBelow(hash: Hash, at: string, blobs: Blobs): Promise<void> {
    if (this.more > 0) return;
    const folder = await readDirectory(hash, blobs);
    if (!folder) return;
    const path = (name: string) => (at === '' ? name : `${at}/${name}`);
    for (const { name, digest } of folder.files)
      this.add({ path: path(name), ...(digest && { size: digest.sizeBytes, hash: digest.hash }) });
    for (const { name, target } of folder.symlinks) this.add({ path: path(name), target });
    for (const { name, digest } of folder.directories)
      if (digest) await this.addBelow(parseDigest(digest).hash, path(name), blobs);
  }
}

async function readDirectory(hash: Hash, blobs: Blobs): Promise<Directory | undefined> {
  try {
    return Directory.decode(await readBlob(hash, blobs));
  } catch {
    return undefined;
  }
}

async function outputsOf(
  result: ActionResult,
  blobs: Blobs,
  where: (path: string) => string,
): Promise<FileList> {
  const list = new FileList();
  for (const { path, digest } of result.outputFiles)
    list.add({ path: where(path), ...(digest && { size: digest.sizeBytes, hash: digest.hash }) });
  for (const { path, target } of result.outputSymlinks) list.add({ path: where(path), target });
  for (const { path, treeDigest } of result.outputDirectories) {
    const tree = treeDigest && (await treeAt(parseDigest(treeDigest).hash, blobs));
    for (const entry of tree ?? []) {
      const at = where(`${path}/${entry.path}`);
      if (entry.kind === 'file') list.add({ path: at, size: entry.digest.size, hash: entry.digest.hash });
      else if (entry.kind === 'symlink') list.add({ path: at, target: entry.target });
    }
  }
  return list;
}

async function treeAt(hash: Hash, blobs: Blobs): Promise<ReturnType<typeof decodeTree> | undefined> {
  try {
    return decodeTree(await readBlob(hash, blobs));
  } catch {
    return undefined;
  }
}

/** Among the newest runs: the steps with this key, and other keys of those steps. */
async function runsWith(
  history: History,
  readable: NamespaceRange,
  key: string,
): Promise<Pick<Action, 'runs' | 'others'> & { readonly namespaces: readonly string[] }> {
  const { documents } = await history.page({
    kind: 'run-details',
    namespaces: readable,
    limit: DASHBOARD.actionRuns,
  });
  const seen = documents.flatMap((document) =>
    (contentOf<StoredDetails>(document)?.steps ?? []).map((step) => ({
      step,
      document,
      at: new Date(document.at).toISOString(),
    })),
  );
  const same = seen.filter(({ step }) => step.key === key);
  const names = new Set(same.map(({ step }) => step.step));
  const others = new Map<string, Action['others'][number]>();
  for (const { step, at } of seen)
    if (step.key !== undefined && step.key !== key && names.has(step.step) && !others.has(step.key))
      others.set(step.key, { key: step.key, at, step: step.step });
  return {
    runs: same
      .slice(0, LISTED_RUNS)
      .map(({ step, document, at }) => ({ run: document.id, step: step.step, at, outcome: step.outcome })),
    others: [...others.values()].slice(0, LISTED_RUNS),
    namespaces: await namespacesOf(
      history,
      same.slice(0, LISTED_RUNS).map(({ document }) => document),
    ),
  };
}

/** Of the newest runs, each once. */
async function namespacesOf(history: History, runs: readonly HistoryDocument[]): Promise<string[]> {
  const found = new Set<string>();
  for (const { id, namespace } of runs) {
    const row = await history.get('run', id, [namespace]);
    const shown = row && contentOf<StoredRow>(row)?.namespace;
    if (shown !== undefined) found.add(shown);
    if (found.size === DASHBOARD.actionNamespaces) break;
  }
  return [...found];
}
