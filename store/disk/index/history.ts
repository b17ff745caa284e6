// The history of the disk engine, in one table: each document under its id, and two rows in the order of time,
// one among all namespaces and one in its own.
// A row of the order counts only if its document has the same time. So a row that a replaced document left
// behind, because two processes put it at once, shows nothing.
import { isInRange, type Namespace, type NamespaceRange, storedNamespace } from '../../../core/namespace.ts';
import { sha256 } from '../../../core/sha256.ts';
import {
  checkDocument,
  compareDocuments,
  type DocumentAddress,
  type History,
  type HistoryDocument,
  type HistoryPage,
  type HistoryQuery,
  parsePosition,
  positionOf,
} from '../../history.ts';
import { STORE } from '../../limits.ts';
import { readRow, rowsBefore, rowsFrom, type Table, type Tables } from './tables.ts';

const TIME_BYTES = 6;
const CHECK_BYTES = 8;
const PRESENT = Buffer.alloc(1);
const LAST_TIME = 2 ** 48 - 1;

export class DiskHistory implements History {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  get #table(): Table {
    return this.#tables.table('history');
  }

  async put(documents: readonly HistoryDocument[]): Promise<void> {
    for (const document of documents) checkDocument(document, STORE.historyDocumentBytes);
    if (documents.length === 0) return;
    this.#tables.refresh();
    const rows = documents.map((document) => {
      const key = documentKey(document.kind, document);
      const replaced = this.#read(document.kind, document);
      return { document, key, value: encode(key, document), replaced };
    });
    const bytes = rows.reduce((sum, { value }) => sum + value.length, 0);
    await this.#tables.commitIfSpace(bytes, () =>
      this.#table.batch(() => {
        const table = this.#table;
        for (const { document, key, value, replaced } of rows) {
          if (replaced && replaced.at !== document.at) this.#removeOrder(document.kind, replaced);
          table.put(key, value);
          for (const order of orderKeys(document.kind, document)) table.put(order, PRESENT);
        }
      }),
    );
  }

  async add(document: HistoryDocument): Promise<boolean> {
    checkDocument(document, STORE.historyDocumentBytes);
    const key = documentKey(document.kind, document);
    const value = encode(key, document);
    return this.#tables.commitIfSpace(value.length, () =>
      this.#table.ifNoExists(key, () => {
        this.#table.put(key, value);
        for (const order of orderKeys(document.kind, document)) this.#table.put(order, PRESENT);
      }),
    );
  }

  async get(kind: string, id: string, namespaces: NamespaceRange): Promise<HistoryDocument | undefined> {
    return (await this.all(kind, id, namespaces))[0];
  }

  async all(kind: string, id: string, namespaces: NamespaceRange): Promise<HistoryDocument[]> {
    this.#tables.refresh();
    const listed = listedIn(namespaces) ?? this.#namespacesOf(kind, id);
    const found = listed
      .filter((namespace) => isInRange(namespace, namespaces))
      .flatMap((namespace) => this.#read(kind, { id, namespace }) ?? []);
    return found.sort(compareDocuments);
  }

  /** Those that have a document of this kind with this id. */
  #namespacesOf(kind: string, id: string): Namespace[] {
    const start = Buffer.from(`d${kind}\0${id}\0`);
    const rows = rowsFrom(this.#table, start, endOf(start));
    return rows.flatMap(({ key }) => storedNamespace(key.toString('latin1', start.length)) ?? []);
  }

  async page(query: HistoryQuery): Promise<HistoryPage> {
    const { kind, namespaces, limit } = query;
    this.#tables.refresh();
    const listed = listedIn(namespaces);
    const prefixes = listed?.map((namespace) => namespacePrefix(kind, namespace)) ?? [timePrefix(kind)];
    const addresses = [...new Set(prefixes)]
      .flatMap((prefix) => this.#addresses(prefix, query))
      .sort(compareDocuments);
    const shown = addresses.slice(0, limit);
    const last = shown.at(-1);
    const documents = shown.flatMap((address) => {
      const document = this.#read(kind, address);
      return document?.at === address.at ? document : [];
    });
    return { documents, position: addresses.length > limit && last ? positionOf(last) : undefined };
  }

  /** One more than the limit, to know whether there are more. */
  #addresses(prefix: string, query: HistoryQuery): DocumentAddress[] {
    const { kind, namespaces, from = 0, to = LAST_TIME, before, limit } = query;
    const last = before === undefined ? undefined : parsePosition(before);
    if (before !== undefined && last === undefined) return [];
    const newest = Math.min(to, last === undefined ? to : last.at + 1);
    if (newest <= from) return [];
    /** `before` may name a time that several documents have: those that come before it are dropped here. */
    const found: DocumentAddress[] = [];
    let end = timeKey(prefix, newest);
    for (;;) {
      const rows = rowsBefore(this.#table, end, timeKey(prefix, from), limit + 2);
      for (const { key } of rows) {
        const address = key.equals(end) ? undefined : addressIn(kind, prefix, key);
        if (!address || !isInRange(address.namespace, namespaces)) continue;
        if (!last || compareDocuments(last, address) < 0) found.push(address);
      }
      const lowest = rows.at(-1);
      if (!lowest || found.length > limit || rows.length < limit + 2) return found.slice(0, limit + 1);
      end = lowest.key;
    }
  }

  async kinds(): Promise<string[]> {
    this.#tables.refresh();
    const found: string[] = [];
    for (let start = 'd'; ; ) {
      const [row] = rowsFrom(this.#table, Buffer.from(start, 'latin1'), undefined, false, 1);
      const [kind = ''] = row?.key.toString('latin1').split('\0', 1) ?? [];
      if (!kind.startsWith('d')) return found;
      found.push(kind.slice(1));
      // After every document of that kind.
      start = `${kind}\x01`;
    }
  }

  async removeBefore(kind: string, at: number, most: number): Promise<number> {
    this.#tables.refresh();
    const prefix = timePrefix(kind);
    const rows = rowsFrom(this.#table, Buffer.from(prefix), timeKey(prefix, at), false, most);
    const old = rows.flatMap(({ key }) => addressIn(kind, prefix, key) ?? []);
    if (old.length === 0) return 0;
    const whole = old.filter((address) => this.#read(kind, address)?.at === address.at);
    await this.#tables.commit(() =>
      this.#table.batch(() => {
        for (const address of old) this.#removeOrder(kind, address);
        for (const address of whole) this.#table.remove(documentKey(kind, address));
      }),
    );
    return old.length;
  }

  async usedBytes(): Promise<number> {
    this.#tables.refresh();
    return this.#tables.usedBytesOf('history');
  }

  /** Call it inside a batch. */
  #removeOrder(kind: string, address: DocumentAddress): void {
    for (const key of orderKeys(kind, address)) this.#table.remove(key);
  }

  /** Undefined if it is gone, or a bit of it or of its key has changed. */
  #read(kind: string, address: Pick<DocumentAddress, 'id' | 'namespace'>): HistoryDocument | undefined {
    const { id, namespace } = address;
    const key = documentKey(kind, address);
    const value = readRow(this.#table, key);
    if (!value || value.length < CHECK_BYTES + TIME_BYTES) return undefined;
    const rest = value.subarray(CHECK_BYTES);
    if (!checkOf(key, rest).equals(value.subarray(0, CHECK_BYTES))) return undefined;
    return { kind, id, namespace, at: rest.readUIntLE(0, TIME_BYTES), bytes: rest.subarray(TIME_BYTES) };
  }
}

/** Undefined if the range is not a list: then the rows of all namespaces are searched. */
function listedIn(range: NamespaceRange): readonly Namespace[] | undefined {
  return range === undefined || 'below' in range ? undefined : range;
}

function encode(key: Buffer, { at, bytes }: HistoryDocument): Buffer {
  const time = Buffer.allocUnsafe(TIME_BYTES);
  time.writeUIntLE(at, 0, TIME_BYTES);
  const rest = Buffer.concat([time, bytes]);
  return Buffer.concat([checkOf(key, rest), rest]);
}

function checkOf(key: Buffer, rest: Buffer): Buffer {
  return Buffer.from(sha256(Buffer.concat([key, rest])).slice(0, 2 * CHECK_BYTES), 'hex');
}

function documentKey(kind: string, { id, namespace }: Pick<DocumentAddress, 'id' | 'namespace'>): Buffer {
  return Buffer.from(`d${kind}\0${id}\0${namespace}`, 'latin1');
}

function orderKeys(kind: string, { at, id, namespace }: DocumentAddress): Buffer[] {
  return [
    Buffer.concat([timeKey(timePrefix(kind), at), Buffer.from(`${id}\0${namespace}`, 'latin1')]),
    Buffer.concat([timeKey(namespacePrefix(kind, namespace), at), Buffer.from(id, 'latin1')]),
  ];
}

function timePrefix(kind: string): string {
  return `t${kind}\0`;
}

function namespacePrefix(kind: string, namespace: Namespace): string {
  return `n${kind}\0${namespace}\0`;
}

/** Every row of an earlier time is less, and every row of this or a later time is greater. */
function timeKey(prefix: string, at: number): Buffer {
  const time = Buffer.allocUnsafe(TIME_BYTES);
  time.writeUIntBE(Math.min(at, LAST_TIME), 0, TIME_BYTES);
  return Buffer.concat([Buffer.from(prefix, 'latin1'), time]);
}

/** Undefined for a key that this version did not write. */
function addressIn(kind: string, prefix: string, key: Buffer): DocumentAddress | undefined {
  if (key.length <= prefix.length + TIME_BYTES) return undefined;
  const at = key.readUIntBE(prefix.length, TIME_BYTES);
  const [id = '', last = ''] = key.toString('latin1', prefix.length + TIME_BYTES).split('\0');
  const isInOne = prefix.startsWith('n');
  const namespace = storedNamespace(isInOne ? prefix.slice(kind.length + 2, -1) : last);
  return namespace === undefined ? undefined : { at, id, namespace };
}

/** The first key after all that begin with `start`, which ends with a zero byte. */
function endOf(start: Buffer): Buffer {
  const end = Buffer.from(start);
  end.writeUInt8(1, end.length - 1);
  return end;
}
