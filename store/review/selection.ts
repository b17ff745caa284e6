// The results that a person selects: by key, namespace, writer, time and bundle. Everything that is given must hold.
// The key of an action means every result under it: its own, those behind its path sets, and its snapshots.
import { parseDuration } from '../../core/cli/command.ts';
import { type Hash, isHash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { bundleIn } from '../../core/metadata/bundle.ts';
import { actionNamedBy } from '../../core/metadata/receipt.ts';
import { isNamespaceAtOrBelow, type Namespace, parseNamespace } from '../../core/namespace.ts';
import { decodeResult } from '../../core/result.ts';
import type { ResultAddress, Review, ReviewedResult, StoredResult } from '../store.ts';

export interface Selection {
  /** Any of these, of results or of actions. Undefined: every key. */
  readonly keys?: readonly Hash[] | undefined;
  /** This one and everything below it, in every protocol. */
  readonly namespace?: Namespace | undefined;
  /** The name of an identity. A result without a recorded writer has none. */
  readonly writer?: string | undefined;
  /** Written then or later, in milliseconds since 1970. A result without a recorded writer has no time. */
  readonly since?: number | undefined;
  /** Stored by the import of this bundle. What the store had before is none of it. */
  readonly bundle?: Hash | undefined;
}

/** A predicate, so that many keys are compared at once. With keys it reads all labels first. */
export async function selector(
  { keys, namespace, writer, since, bundle }: Selection,
  review: Pick<Review, 'labels'>,
): Promise<(seen: ReviewedResult) => boolean> {
  const isWanted = keys && (await keySelector(keys, review));
  return ({ address, result }) =>
    (namespace === undefined || isNamespaceAtOrBelow(address.namespace, namespace)) &&
    (writer === undefined || result.writer?.name === writer) &&
    (since === undefined || (result.writer !== undefined && result.writer.at >= since)) &&
    (bundle === undefined || bundleIn(result.writer?.via) === bundle) &&
    (isWanted === undefined || isWanted(address, result));
}

type IsWanted = (address: ResultAddress, result: StoredResult) => boolean;

/**
 * A result behind a path set, and the path set itself, name the key of their action. A snapshot of a step's state or
 * of a checkpoint has a label with that key as one of its parts.
 */
async function keySelector(keys: readonly Hash[], review: Pick<Review, 'labels'>): Promise<IsWanted> {
  const wanted = new Set<string>(keys);
  const labelled = new Set<string>();
  for await (const { namespace, label, key } of review.labels())
    if (label.split('/').some((part) => wanted.has(part))) labelled.add(nameOf({ namespace, key }));
  return (address, { bytes }) =>
    wanted.has(address.key) || labelled.has(nameOf(address)) || wanted.has(actionIn(bytes));
}

function nameOf({ namespace, key }: ResultAddress): string {
  return `${namespace} ${key}`;
}

/** "" if it names none. */
function actionIn(bytes: Uint8Array): string {
  try {
    return actionNamedBy(decodeResult(bytes)) ?? '';
  } catch {
    return '';
  }
}

/** As JSON and the command line have it: `since` is a time in ISO 8601. */
export interface SelectionTexts {
  readonly keys?: readonly string[] | undefined;
  readonly namespace?: string | undefined;
  readonly writer?: string | undefined;
  readonly since?: string | undefined;
  readonly bundle?: string | undefined;
}

/** Throws if nothing is selected: nobody forgets a whole store by a slip. */
export function parseSelection({ keys, namespace, writer, since, bundle }: SelectionTexts): Selection {
  if (!keys?.length && [namespace, writer, since, bundle].every((condition) => condition === undefined))
    throw invalid('name at least one of key, namespace, writer, since and bundle');
  return {
    ...(keys?.length && { keys: keys.map(parseKey) }),
    ...(namespace !== undefined && { namespace: parseNamespace(namespace) }),
    ...(writer !== undefined && { writer }),
    ...(since !== undefined && { since: parseTime(since) }),
    ...(bundle !== undefined && { bundle: parseKey(bundle) }),
  };
}

export function selectionTexts({ since, ...others }: Selection): SelectionTexts {
  return { ...others, since: since === undefined ? undefined : new Date(since).toISOString() };
}

function parseKey(text: string): Hash {
  if (isHash(text)) return text;
  throw invalid(
    `a key, or the digest of a bundle, has 64 lower-case hex digits, not ${JSON.stringify(text.slice(0, SHOWN))}`,
  );
}

const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** A time without a zone would mean another moment on each machine, so it is refused. */
function parseTime(text: string): number {
  const time = ISO.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw invalid(
    `since takes a time such as 2026-11-17T09:30:00Z or 2026-11-17 (UTC), not ${JSON.stringify(text.slice(0, SHOWN))}`,
  );
}

/** The value of a flag --since as `parseSelection` takes it. A length of time, such as 2d, counts back from now. */
export function sinceText(text: string | undefined, now: number): string | undefined {
  if (text === undefined || !/^[\d.]+[a-z]$/.test(text)) return text;
  return new Date(now - parseDuration('--since', text)).toISOString();
}

const SHOWN = 100;

function invalid(detail: string): AssayError {
  return new AssayError('ASSAY_BAD_SELECTION', detail);
}
