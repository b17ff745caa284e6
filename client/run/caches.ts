// The caches of a run: the local store, the remote, the stat index, the scan memo, the tool memo and the
// history.
// Each opens on first use. If one is unusable, the run goes on without it.

import { join } from 'node:path';
import { digestOf, type Hash } from '../../core/digest.ts';
import type { Checked } from '../../core/metadata/receipt.ts';
import type { PathSet } from '../../core/path-set.ts';
import type { Store } from '../../store/store.ts';
import { type FileDigests, fileDigests } from '../files/file-digest.ts';
import { StatIndex } from '../files/stat-index.ts';
import { type ActionHistory, historyOf, type RunNote, stepOf } from '../history/history.ts';
import { InputReader, type InputSource } from '../inputs/inputs.ts';
import type { IdentifiedAction } from '../inputs/keyed-action.ts';
import { ScanMemos } from '../inputs/scan-memo.ts';
import { REMOTE } from '../limits.ts';
import { clientFolder } from '../local-store/client-folder.ts';
import type { KeptFailures } from '../local-store/kept-failures.ts';
import { MadeHere } from '../local-store/made-here.ts';
import { openUsableStore } from '../local-store/open.ts';
import { isCiJob, isNewRemote, Outbox } from '../local-store/outbox.ts';
import type { SystemFileMemo } from '../path-sets/system-file-memo.ts';
import type { Remote } from '../remote/remote.ts';
import type { Report } from '../terminal/events.ts';
import { ToolMemo } from '../tools/tool-memo.ts';
import { InPlaceChecks } from './in-place.ts';
import type { FinishOptions, ResultUploads } from './uploads.ts';

export interface CacheOptions {
  readonly storeFolder: string;
  readonly workspace: string;
  readonly remoteUrl?: URL | undefined;
  readonly token?: string | undefined;
  readonly now: () => number;
  readonly report: Report;
  /** For graph runs: their state records whole steps, so a recorded scan would never be used. */
  readonly skipsScanMemo?: boolean;
  /** For graph runs, which clear it after each command. */
  readonly systemFiles?: SystemFileMemo;
}

export interface Cache {
  /**
   * Opens the store on the first call; later calls return the same one. Undefined: the store is unusable, and
   * the command runs without it.
   */
  openStore(): Promise<Store | undefined>;
  /** A lookup is a miss, whatever is stored (--force). */
  readonly findsNothing?: boolean;
  readonly inPlace: InPlaceChecks;
  readonly digests: FileDigests;
  readonly tools: ToolMemo;
  readonly systemFiles?: SystemFileMemo | undefined;
  readonly inputs: InputSource;
  readonly history: ActionHistory;
  /** The failures that this machine alone keeps. */
  keptFailures(): Promise<KeptFailures>;
  addToHistory(
    ran: { action: IdentifiedAction } & Pick<
      RunNote,
      | 'outcome'
      | 'reason'
      | 'against'
      | 'seen'
      | 'differences'
      | 'notKept'
      | 'exitCode'
      | 'commandMs'
      | 'tries'
    > & { readonly checked?: Checked },
  ): void;
  /** The path sets that the remote listed for an action without a hit. The publication takes them. */
  readonly listedSets: Map<Hash, readonly PathSet[]>;
  /** Lists what this run makes; undefined with a remote, and in CI. */
  readonly madeHere?: MadeHere | undefined;
  /** Opens the remote on the first call; a local hit never calls it. */
  openRemote(): Promise<Remote | undefined>;
  /** The remote, if something has opened it. */
  openedRemote(): Promise<Remote | undefined>;
  /** Opens what a wing keeps in the store and at the remote. It closes with the cache. Undefined if the store is unusable. */
  openBeside<T extends Closable>(open: (place: CachePlace) => Promise<T>): Promise<T | undefined>;
  /** The same object for each call; undefined without a remote or a store. */
  openUploads(): Promise<ResultUploads | undefined>;
  /** Waits a bounded time for the uploads of this run and of earlier ones. */
  finishUploads(began: number, options: FinishOptions): Promise<UploadSummary>;
  close(): Promise<void>;
}

interface Closable {
  close(): Promise<void>;
}

/** The store that a cache has opened, and what it was opened with. */
interface CachePlace extends Pick<CacheOptions, 'storeFolder' | 'remoteUrl' | 'token' | 'now' | 'report'> {
  readonly store: Store;
  readonly digests: FileDigests;
}

export interface UploadSummary {
  /** How many results are not shared yet, and why. */
  readonly unshared: number;
  readonly why: string;
  /** The remote has a different result of one of the actions. */
  readonly diverged: boolean;
}

const NOTHING_SENT: UploadSummary = { unshared: 0, why: '', diverged: false };

export function openCache(options: CacheOptions): Cache {
  const own = clientFolder(options.storeFolder);
  const statIndex = (name: string) => new StatIndex(join(own, 'stat', `${name}.index`));
  const [workspace, programs] = [
    statIndex(digestOf(Buffer.from(options.workspace)).hash),
    statIndex('programs'),
  ];
  const digests = fileDigests(workspace, options.now, programs);
  const scans = options.skipsScanMemo ? undefined : new ScanMemos(join(own, 'scan'));
  const inputs = new InputReader(digests, scans, options.now);
  const history = historyOf(options.storeFolder);
  let store: Promise<Store | undefined> | undefined;
  let remote: Promise<Remote | undefined> | undefined;
  let uploads: Promise<ResultUploads | undefined> | undefined;
  const beside: Closable[] = [];
  const madeHere = new MadeHere(options.storeFolder);
  const hits = new Set<string>();
  const openStore = () => {
    store ??= openUsableStore(options.storeFolder, options.report);
    return store;
  };
  const openRemote = () => {
    remote ??= openRemoteIfNamed(options);
    return remote;
  };
  const openUploads = () => {
    uploads ??= openUploadsTo(options, openStore, openRemote);
    return uploads;
  };
  return {
    openStore,
    openRemote,
    openedRemote: async () => remote,
    openUploads,
    madeHere: options.remoteUrl || isCiJob() ? undefined : madeHere,
    inPlace: new InPlaceChecks(),
    digests,
    tools: new ToolMemo(options.workspace, options.now),
    systemFiles: options.systemFiles,
    listedSets: new Map(),
    inputs,
    history,
    keptFailures: async () => {
      const { KeptFailures } = await import('../local-store/kept-failures.ts');
      return new KeptFailures(options.storeFolder);
    },
    addToHistory({ action: { request, key }, checked = 'same', ...ran }) {
      const noted = { ...ran, at: options.now(), step: stepOf(request), key: key.hash };
      // A hit that a check contradicts is sent nowhere, nor is a failure that is kept here.
      const isFailure = ran.exitCode !== undefined;
      if (ran.outcome === 'hit-local' && checked === 'same' && !isFailure) hits.add(key.hash);
      if (ran.outcome === 'miss') history.append(request, noted);
      else history.buffer(request, noted);
    },
    async openBeside(open) {
      const opened = await openStore();
      if (!opened) return undefined;
      const kept = await open({ ...options, store: opened, digests });
      beside.push(kept);
      return kept;
    },
    async finishUploads(began, waiting) {
      const { remoteUrl, storeFolder, token, now, report } = options;
      if (!remoteUrl) return NOTHING_SENT;
      const outbox = new Outbox(storeFolder, remoteUrl, token);
      for (const key of waiting.hits ?? []) hits.add(key);
      const isFirst = hits.size > 0 && !isCiJob() && isNewRemote(options.storeFolder, remoteUrl);
      const isNeeded =
        isFirst ||
        uploads !== undefined ||
        (outbox.exists && (remote !== undefined || !outbox.wasTriedRecently(now())));
      const opened = isNeeded ? await openUploads() : undefined;
      if (!opened) return NOTHING_SENT;
      const along = isFirst ? await offerHits(await openStore(), outbox, madeHere, hits) : [];
      if (isFirst) madeHere.noteSent(remoteUrl);
      opened.addEarlier(report);
      const bound = Math.max(REMOTE.uploadsMs, (now() - began) * REMOTE.uploadsShare);
      const left = await opened.finish(bound, waiting);
      // A token that may only read owes the remote nothing.
      const isRefused = (await openRemote())?.takesWrites === false;
      const owed = isRefused ? along.filter((key) => !opened.isShared(key) && outbox.has(key)) : [];
      for (const key of owed) outbox.remove(key);
      return {
        unshared: (left?.results ?? 0) - owed.length,
        why: left?.why ?? '',
        diverged: opened.diverged > 0,
      };
    },
    async close() {
      history.flush();
      workspace.save();
      programs.save();
      await (await uploads)?.close();
      for (const kept of beside) await kept.close();
      await (await remote)?.close();
      await (await store)?.close();
    },
  };
}

/** Hits of this run that were made without a remote. */
async function offerHits(
  store: Store | undefined,
  outbox: Outbox,
  madeHere: MadeHere,
  hits: ReadonlySet<string>,
): Promise<readonly Hash[]> {
  if (!store) return [];
  return madeHere.offer(store, outbox, ({ action }) => hits.has(action), REMOTE.sentAlong);
}

async function openUploadsTo(
  { storeFolder, remoteUrl, token, now }: CacheOptions,
  openStore: Cache['openStore'],
  openRemote: Cache['openRemote'],
): Promise<ResultUploads | undefined> {
  const [store, remote] = await Promise.all([openStore(), openRemote()]);
  if (!store || !remote || !remoteUrl) return undefined;
  const { ResultUploads } = await import('./uploads.ts');
  return new ResultUploads({ outbox: new Outbox(storeFolder, remoteUrl, token), store, remote, now });
}

async function openRemoteIfNamed({ remoteUrl, token, now }: CacheOptions): Promise<Remote | undefined> {
  if (!remoteUrl) return undefined;
  const { openRemote } = await import('../remote/open.ts');
  return openRemote({ url: remoteUrl, token, now });
}
