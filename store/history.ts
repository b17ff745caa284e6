// History: small documents by kind, namespace and time, such as the runs that clients report.
// Guarantees: a document that was put survives a crash. A page comes newest first. A document that was put
// again under its id replaces the earlier one. Nothing is evicted; documents are removed by age.
//
// No hit depends on the history: a document that is damaged or gone is left out of every answer.
import { type Namespace, type NamespaceRange, storedNamespace } from '../core/namespace.ts';

export interface HistoryDocument {
  /** Lower-case letters and "-", at most 32. */
  readonly kind: string;
  readonly namespace: Namespace;
  /** Unique among the documents of one kind in one namespace: letters, digits, "-" and "_", at most 64. */
  readonly id: string;
  /** In milliseconds since 1970, a whole number. */
  readonly at: number;
  /** At most STORE.historyDocumentBytes. */
  readonly bytes: Buffer;
}

export interface HistoryQuery {
  readonly kind: string;
  readonly namespaces?: NamespaceRange;
  /** Not older than this. */
  readonly from?: number | undefined;
  /** Older than this. */
  readonly to?: number | undefined;
  /** Older than the last document of the page that gave this position. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface HistoryPage {
  /** Newest first. Fewer than the limit, also on a page that is not the last one, if some are damaged. */
  readonly documents: readonly HistoryDocument[];
  /** Undefined after the last page. */
  readonly position: string | undefined;
}

export interface History {
  /** All of them or none. Resolves when they are durable. */
  put(documents: readonly HistoryDocument[]): Promise<void>;
  /** False if its namespace has a document of its kind with its id. Of two calls at once, one is first. */
  add(document: HistoryDocument): Promise<boolean>;
  /** Every document with this id in these namespaces, newest first. */
  all(kind: string, id: string, namespaces: NamespaceRange): Promise<readonly HistoryDocument[]>;
  /** The newest of them. */
  get(kind: string, id: string, namespaces: NamespaceRange): Promise<HistoryDocument | undefined>;
  page(query: HistoryQuery): Promise<HistoryPage>;
  /** The kinds of which there is a document. */
  kinds(): Promise<string[]>;
  /** Removes at most `most` documents that are older than this, the oldest first. Returns how many. */
  removeBefore(kind: string, at: number, most: number): Promise<number>;
  /** What all documents take in the store. */
  usedBytes(): Promise<number>;
}

const KIND = /^[a-z-]{1,32}$/;
const ID = /^[0-9A-Za-z_-]{1,64}$/;

export function isHistoryId(text: string): boolean {
  return ID.test(text);
}

/** Throws if a caller breaks the rules of a document. Names from outside are checked before. */
export function checkDocument({ kind, id, at, bytes }: HistoryDocument, mostBytes: number): void {
  if (!KIND.test(kind)) throw new RangeError(`a kind of history is not ${JSON.stringify(kind)}`);
  if (!ID.test(id)) throw new RangeError('the id of a document is not valid');
  if (!Number.isSafeInteger(at) || at < 0 || at >= 2 ** 48) throw new RangeError('its time is not valid');
  if (bytes.length > mostBytes) throw new RangeError(`a document has ${bytes.length} bytes`);
}

/** The order of a page: newest first. Documents of one time are in the order of id and namespace. */
export function compareDocuments(a: DocumentAddress, b: DocumentAddress): number {
  return b.at - a.at || compareTexts(b.id, a.id) || compareTexts(b.namespace, a.namespace);
}

export type DocumentAddress = Pick<HistoryDocument, 'at' | 'id' | 'namespace'>;

/** All texts are ASCII, so this is also the order of their bytes. */
function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Of a page's last document. It is not a secret: it holds what the page showed. */
export function positionOf({ at, id, namespace }: DocumentAddress): string {
  return `${at}.${id}.${namespace}`;
}

/** Undefined if it is no position. */
export function parsePosition(text: string): DocumentAddress | undefined {
  const [, at, id, namespace] = /^(\d{1,15})\.([0-9A-Za-z_-]{1,64})\.(.{0,512})$/.exec(text) ?? [];
  const stored = namespace === undefined ? undefined : storedNamespace(namespace);
  if (at === undefined || id === undefined || stored === undefined) return undefined;
  return { at: Number(at), id, namespace: stored };
}
