// Examines a whole store: every blob against its SHA-256, every result for the blobs that it names.
// Resumes after an interruption, because the journal holds its progress. Blobs come in the order of their
// hashes, which are evenly distributed, so the last hash shows the share that is done.
import type { Digest, Hash } from '../../core/digest.ts';
import { STORE, TURN } from '../limits.ts';
import type { Inspection, ResultAddress } from '../store.ts';
import type { Throttle } from './throttle.ts';

export interface ScrubProgress {
  readonly startedAt: number;
  /** Set when the scrub is complete. */
  readonly finishedAt?: number | undefined;
  /** The last blob that was examined. */
  readonly behind?: Hash | undefined;
  readonly blobs: number;
  readonly bytes: number;
  /** How many blobs were damaged, and the first of them. */
  readonly damaged: number;
  readonly damage: readonly Digest[];
  readonly results: number;
  /** Results that are unreadable or incomplete. Each is a miss. */
  readonly unusableResults: number;
}

interface ScrubOptions {
  readonly inspection: Inspection;
  readonly throttle: Throttle | undefined;
  readonly now: () => number;
  /** Called after each step with the progress so far. */
  readonly onProgress: (progress: ScrubProgress) => void;
  /** Called for each damaged blob after it was quarantined. */
  readonly onDamage?: (digest: Digest) => Promise<void>;
  /** Called for each complete result. */
  readonly onResult?: (address: ResultAddress) => void;
  /** Awaited after each page, while no blob is open. */
  readonly onPage?: () => Promise<void>;
  readonly signal?: AbortSignal;
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function newProgress(startedAt: number): ScrubProgress {
  return { startedAt, blobs: 0, bytes: 0, damaged: 0, damage: [], results: 0, unusableResults: 0 };
}

/** From 0 to 1. */
export function shareDone({ behind, finishedAt }: ScrubProgress): number {
  if (finishedAt !== undefined) return 1;
  return behind === undefined ? 0 : Number.parseInt(behind.slice(0, 8), 16) / 2 ** 32;
}

/** Undefined if `signal` stopped it. */
export async function scrub(from: ScrubProgress, options: ScrubOptions): Promise<ScrubProgress | undefined> {
  const examined = await examineBlobs(from, options);
  const checked = examined && (await checkResults(examined, options));
  if (!checked) return undefined;
  const finished = { ...checked, finishedAt: options.now() };
  options.onProgress(finished);
  return finished;
}

async function examineBlobs(from: ScrubProgress, options: ScrubOptions): Promise<ScrubProgress | undefined> {
  const { inspection, onProgress, onPage, signal } = options;
  let progress = from;
  for (;;) {
    const page = await inspection.blobsAfter(progress.behind);
    if (page.length === 0) return progress;
    for (const digest of page) {
      if (signal?.aborted) return undefined;
      progress = await examineOne(progress, digest, options);
      onProgress(progress);
      if (progress.blobs % TURN.scrubbedBlobs === 0) await yieldToEventLoop();
    }
    await onPage?.();
  }
}

async function examineOne(
  progress: ScrubProgress,
  digest: Digest,
  { inspection, throttle, onDamage }: ScrubOptions,
): Promise<ScrubProgress> {
  const onRead = async (bytes: number): Promise<void> => throttle?.pass(bytes);
  const health = await inspection.examine(digest.hash, onRead);
  if (health === 'damaged') await onDamage?.(digest);
  const isDamaged = health === 'damaged';
  return {
    ...progress,
    behind: digest.hash,
    blobs: progress.blobs + 1,
    bytes: progress.bytes + Math.max(0, digest.size),
    damaged: progress.damaged + (isDamaged ? 1 : 0),
    damage: isDamaged
      ? [...progress.damage, { hash: digest.hash, size: digest.size }].slice(0, STORE.maxDamageListed)
      : progress.damage,
  };
}

async function checkResults(from: ScrubProgress, options: ScrubOptions): Promise<ScrubProgress | undefined> {
  const { inspection, onResult, onPage, signal } = options;
  const progress = { ...from, results: 0, unusableResults: 0 };
  let page = await inspection.resultsAfter(undefined);
  for (; page.results.length > 0; page = await inspection.resultsAfter(page.position)) {
    if (signal?.aborted) return undefined;
    await yieldToEventLoop();
    await onPage?.();
    for (const { address, isReadable, missing } of page.results) {
      progress.results++;
      if (!isReadable || missing > 0) progress.unusableResults++;
      else if (address) onResult?.(address);
    }
  }
  return progress;
}
