// The history of the fleet engine: one row for each document.
import type { Namespace, NamespaceRange } from '../../../core/namespace.ts';
import {
  checkDocument,
  type History,
  type HistoryDocument,
  type HistoryPage,
  type HistoryQuery,
  parsePosition,
  positionOf,
} from '../../../store/history.ts';
import { STORE } from '../../../store/limits.ts';
import type { Database, Statement } from './index/database.ts';

/** If one statement names a document twice, the last one counts. */
const PUT: Statement = {
  name: 'history put',
  text: `
    INSERT INTO assay.history (kind, namespace, id, at, bytes)
    SELECT DISTINCT ON (kind, namespace, id) kind, namespace, id, at, bytes
    FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::bytea[]) WITH ORDINALITY
      AS d(kind, namespace, id, at, bytes, n)
    ORDER BY kind, namespace, id, n DESC
    ON CONFLICT (kind, namespace, id) DO UPDATE SET at = excluded.at, bytes = excluded.bytes`,
};

const ADD: Statement = {
  name: 'history add',
  text: `
    INSERT INTO assay.history (kind, namespace, id, at, bytes) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING RETURNING id`,
};

const ORDER = 'ORDER BY at DESC, id DESC, namespace DESC';

/** The list is null for every namespace, `below` if the range has none. */
function inRange(list: string, below: string): string {
  return `(${list}::text[] IS NULL OR namespace = ANY (${list})
      OR namespace = ${below}::text OR starts_with(namespace, ${below}::text || '/'))`;
}

const GET: Statement = {
  name: 'history get',
  text: `
    SELECT kind, namespace, id, at, bytes FROM assay.history
    WHERE kind = $1 AND id = $2 AND ${inRange('$3', '$4')} ${ORDER} LIMIT $5`,
};

const PAGE: Statement = {
  name: 'history page',
  text: `
    SELECT kind, namespace, id, at, bytes FROM assay.history
    WHERE kind = $1 AND ${inRange('$2', '$9')} AND at >= $3 AND at < $4
      AND ($5::int8 IS NULL OR (at, id, namespace) < ($5, $6::text, $7::text)) ${ORDER} LIMIT $8`,
};

const REMOVE: Statement = {
  name: 'history remove',
  text: `
    WITH old AS (
      SELECT kind, namespace, id FROM assay.history WHERE kind = $1 AND at < $2
      ORDER BY at, id, namespace LIMIT $3 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM assay.history h USING old
    WHERE h.kind = old.kind AND h.namespace = old.namespace AND h.id = old.id RETURNING h.id`,
};

const KINDS: Statement = { name: 'history kinds', text: 'SELECT DISTINCT kind FROM assay.history' };

const USED: Statement = {
  name: 'history used',
  text: 'SELECT coalesce(sum(octet_length(bytes)), 0)::int8 AS bytes FROM assay.history',
};

const LAST_TIME = 2 ** 48;

export class FleetHistory implements History {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async put(documents: readonly HistoryDocument[]): Promise<void> {
    for (const document of documents) checkDocument(document, STORE.historyDocumentBytes);
    if (documents.length === 0) return;
    await this.#database.query(PUT, [
      documents.map(({ kind }) => kind),
      documents.map(({ namespace }) => namespace),
      documents.map(({ id }) => id),
      documents.map(({ at }) => at),
      documents.map(({ bytes }) => bytes),
    ]);
  }

  async add(document: HistoryDocument): Promise<boolean> {
    checkDocument(document, STORE.historyDocumentBytes);
    const { kind, namespace, id, at, bytes } = document;
    return (await this.#database.query(ADD, [kind, namespace, id, at, bytes])).length > 0;
  }

  async get(kind: string, id: string, namespaces: NamespaceRange): Promise<HistoryDocument | undefined> {
    const [document] = await this.#get(kind, id, namespaces, 1);
    return document;
  }

  all(kind: string, id: string, namespaces: NamespaceRange): Promise<HistoryDocument[]> {
    return this.#get(kind, id, namespaces, STORE.rangeEntries);
  }

  #get(kind: string, id: string, namespaces: NamespaceRange, most: number): Promise<HistoryDocument[]> {
    const { list, below } = rangeOf(namespaces);
    return this.#database.query<HistoryDocument>(GET, [kind, id, list, below, most]);
  }

  async page({ kind, namespaces, from, to, before, limit }: HistoryQuery): Promise<HistoryPage> {
    const last = before === undefined ? undefined : parsePosition(before);
    if (before !== undefined && !last) return { documents: [], position: undefined };
    const { list, below } = rangeOf(namespaces);
    const rows = await this.#database.query<HistoryDocument>(PAGE, [
      kind,
      list,
      from ?? 0,
      to ?? LAST_TIME,
      last?.at ?? null,
      last?.id ?? null,
      last?.namespace ?? null,
      limit + 1,
      below,
    ]);
    const documents = rows.slice(0, limit);
    const end = documents.at(-1);
    return { documents, position: rows.length > limit && end ? positionOf(end) : undefined };
  }

  async kinds(): Promise<string[]> {
    const rows = await this.#database.query<{ kind: string }>(KINDS);
    return rows.map(({ kind }) => kind);
  }

  async removeBefore(kind: string, at: number, most: number): Promise<number> {
    return (await this.#database.query(REMOVE, [kind, at, most])).length;
  }

  async usedBytes(): Promise<number> {
    const [row] = await this.#database.query<{ bytes: number }>(USED);
    return row?.bytes ?? 0;
  }
}

function rangeOf(range: NamespaceRange): { list: readonly Namespace[] | null; below: Namespace | null } {
  if (range === undefined) return { list: null, below: null };
  return 'below' in range ? { list: range.besides, below: range.below } : { list: range, below: null };
}
