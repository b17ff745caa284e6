// The documents of the dashboard in the store's history: JSON, compressed if that is worth it.
// A document that can't be read counts as not there: no page fails because of it.

import { setImmediate } from 'node:timers/promises';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Namespace } from '../../core/namespace.ts';
import type { History, HistoryDocument, HistoryQuery } from '../../store/history.ts';
import { STORE } from '../../store/limits.ts';
import { HISTORY_DOCUMENTS } from '../limits.ts';

const OPEN_BRACE = 0x7b;

export interface DocumentName {
  readonly kind: string;
  readonly namespace: Namespace;
  readonly id: string;
  readonly at: number;
}

export function documentOf(name: DocumentName, value: object): HistoryDocument {
  const json = Buffer.from(JSON.stringify(value));
  return { ...name, bytes: json.length < HISTORY_DOCUMENTS.compressedFrom ? json : zstdCompressSync(json) };
}

/** Undefined if it is not JSON that this server wrote. */
export function contentOf<T extends object>({ bytes }: HistoryDocument): T | undefined {
  try {
    const json =
      bytes[0] === OPEN_BRACE
        ? bytes
        : zstdDecompressSync(bytes, { maxOutputLength: HISTORY_DOCUMENTS.maxDocumentBytes });
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}

/** Every document of a period, newest first, read page by page. Requests are served between two pages. */
export async function* documentsIn<T extends object>(
  history: History,
  query: Omit<HistoryQuery, 'limit' | 'before'>,
): AsyncGenerator<{ readonly name: HistoryDocument; readonly value: T }> {
  for (let before: string | undefined; ; ) {
    const { documents, position } = await history.page({ ...query, before, limit: STORE.historyBatch });
    for (const name of documents) {
      const value = contentOf<T>(name);
      if (value) yield { name, value };
    }
    if (position === undefined) return;
    await setImmediate();
    before = position;
  }
}
