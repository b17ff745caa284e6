// The records of a store that somebody wants in a bundle: those of one namespace, and of the snapshots below it.
// A store is that of a client, which keeps path sets in slots, or that of a server, which lists them.

import { type Digest, type Hash, parseDigest } from '../../../core/digest.ts';
import { actionNamedBy } from '../../../core/metadata/receipt.ts';
import {
  DEFAULT_NAMESPACE,
  type Namespace,
  namespaceBelow,
  parseNamespace,
  protocolNamespace,
} from '../../../core/namespace.ts';
import { decodeResult } from '../../../core/result.ts';
import { decodeList } from '../../../server/protocols/path-sets/list-record.ts';
import { selector } from '../../../store/review/selection.ts';
import type { Results, Review, ReviewedResult, StoredResult, Writer } from '../../../store/store.ts';
import { isKind, type LabelRecord } from '../format/records.ts';
import type { WantedResult } from './wanted.ts';

export interface RecordSource {
  /** The oldest of each kind first. */
  labels(): AsyncIterable<LabelRecord>;
  sets(): AsyncIterable<KnownSet>;
  /** Without the slots and lists of path sets. */
  results(): AsyncIterable<SourceResult>;
  /** Undefined if a part of it is missing. Otherwise all that it names stays for a lease. */
  get(result: SourceResult): Promise<StoredResult | undefined>;
}

interface KnownSet {
  readonly action: Hash;
  readonly set: Digest;
}

export interface SourceResult {
  readonly in: Namespace;
  readonly key: Hash;
  readonly bytes: Buffer;
  readonly writer?: Writer | undefined;
}

/** The namespace of an identity, and what is asked for below it. A local store has no identities. */
interface Within {
  readonly identity: Namespace;
  readonly requested: Namespace;
}

export const LOCALLY: Within = { identity: DEFAULT_NAMESPACE, requested: DEFAULT_NAMESPACE };

interface StoreRecords {
  readonly review: Review;
  /** Named as the kinds of a bundle are. */
  readonly results: Pick<Results, 'get'>;
  readonly wanted: WantedResult;
  readonly within: Within;
}

export function storeSource({ review, results, wanted, within }: StoreRecords): RecordSource {
  const kindOf = kindsBelow(within);
  const lists = namespaceBelow(within.identity, protocolNamespace('path-sets', within.requested));

  async function* labels(): AsyncGenerator<LabelRecord> {
    const found: LabelRecord[] = [];
    for await (const { namespace, label, key } of review.labels()) {
      const kind = kindOf(namespace);
      if (kind) found.push({ in: kind, label, key });
    }
    yield* found.reverse();
  }

  return {
    labels,
    async *sets() {
      for await (const { address, result, isRival } of review.results()) {
        if (isRival) continue;
        if (address.namespace === lists) yield* listedIn(address.key, result.bytes);
        else if (kindOf(address.namespace) === '') yield* slotIn(result.bytes);
      }
    },
    async *results() {
      const isWanted = await wish(wanted, labels(), review, kindOf);
      for await (const seen of review.results()) {
        const kind = seen.isRival ? undefined : kindOf(seen.address.namespace);
        if (kind === undefined || !isWanted(seen)) continue;
        const { bytes, writer } = seen.result;
        if (kind === '' && slotIn(bytes).length > 0) continue;
        yield { in: kind, key: seen.address.key, bytes, writer };
      }
    },
    get: ({ in: namespace, key }) => results.get({ namespace, key }),
  };
}

type KindOf = (stored: Namespace) => Namespace | undefined;

/** The kind, in a bundle, of results of a stored namespace. Undefined if a bundle must not have them. */
function kindsBelow({ identity, requested }: Within): KindOf {
  const own = namespaceBelow(identity, requested);
  const probe = namespaceBelow(identity, parseNamespace(requested === '' ? 'x' : `${requested}/x`));
  const prefix = probe.slice(0, -1);
  return (stored) => {
    if (stored === own) return DEFAULT_NAMESPACE;
    const rest = stored.startsWith(prefix) ? stored.slice(prefix.length) : '';
    return rest !== '' && isKind(rest) ? parseNamespace(rest) : undefined;
  };
}

/** Each condition of `keys` and `labels` adds some results; `since` leaves some out. */
async function wish(
  { keys, labels: beginnings, since }: WantedResult,
  labels: AsyncIterable<LabelRecord>,
  review: Review,
  kindOf: KindOf,
): Promise<(seen: ReviewedResult) => boolean> {
  const isAll = keys.length === 0 && beginnings.length === 0;
  const isOfKeys = keys.length > 0 ? await selector({ keys }, review) : () => false;
  const labelled = new Set<string>();
  for await (const { in: kind, label, key } of beginnings.length > 0 ? labels : [])
    if (beginnings.some((beginning) => label.startsWith(beginning))) labelled.add(`${kind} ${key}`);
  return (seen) => {
    const { namespace, key } = seen.address;
    const isNamed = isAll || isOfKeys(seen) || labelled.has(`${kindOf(namespace)} ${key}`);
    return isNamed && (since === undefined || madeAt(seen) >= since);
  };
}

/** In milliseconds since 1970; 0 if nobody says. */
function madeAt({ result }: ReviewedResult): number {
  try {
    const { executionCompletedTimestamp: end, executionStartTimestamp: start } =
      decodeResult(result.bytes).executionMetadata ?? {};
    const at = end ?? start;
    return at ? at.seconds * 1000 + at.nanos / 1e6 : (result.writer?.at ?? 0);
  } catch {
    return 0;
  }
}

/** The path sets in the list of an action, as a server keeps it. */
function listedIn(action: Hash, record: Buffer): KnownSet[] {
  try {
    return decodeList(record).map(({ set }) => ({ action, set }));
  } catch {
    return [];
  }
}

/** The path set that a slot of a local store holds (client/path-sets/storage.ts). None for any other result. */
function slotIn(bytes: Uint8Array): KnownSet[] {
  try {
    const result = decodeResult(bytes);
    const [file, ...more] = result.outputFiles;
    const action = actionNamedBy(result);
    if (file?.path !== 'path-set' || more.length > 0 || !file.digest || action === undefined) return [];
    const { worker, executionStartTimestamp } = result.executionMetadata ?? { worker: '' };
    return worker === '' && !executionStartTimestamp ? [{ action, set: parseDigest(file.digest) }] : [];
  } catch {
    return [];
  }
}
