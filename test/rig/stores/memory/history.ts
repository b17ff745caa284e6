// The history in the memory of this process.
import { isInRange, type Namespace } from '../../../../core/namespace.ts';
import {
  checkDocument,
  compareDocuments,
  type History,
  type HistoryDocument,
  parsePosition,
  positionOf,
} from '../../../../store/history.ts';
import { STORE } from '../../../../store/limits.ts';

export function memoryHistory(): History {
  /** By kind, then by id and namespace. */
  const kinds = new Map<string, Map<string, HistoryDocument>>();
  const documentsOf = (kind: string) => [...(kinds.get(kind)?.values() ?? [])].sort(compareDocuments);
  return {
    async put(documents) {
      for (const document of documents) checkDocument(document, STORE.historyDocumentBytes);
      for (const document of documents) {
        const { kind, id, namespace, bytes } = document;
        const kept = kinds.get(kind) ?? new Map<string, HistoryDocument>();
        kept.set(nameOf(id, namespace), { ...document, bytes: Buffer.from(bytes) });
        kinds.set(kind, kept);
      }
    },
    async add(document) {
      const { kind, id, namespace } = document;
      if (kinds.get(kind)?.has(nameOf(id, namespace))) return false;
      await this.put([document]);
      return true;
    },
    async get(kind, id, namespaces) {
      return (await this.all(kind, id, namespaces))[0];
    },
    async all(kind, id, namespaces) {
      return documentsOf(kind).filter((one) => one.id === id && isInRange(one.namespace, namespaces));
    },
    async page({ kind, namespaces, from = 0, to = Number.POSITIVE_INFINITY, before, limit }) {
      const last = before === undefined ? undefined : parsePosition(before);
      const found = documentsOf(kind).filter(
        (one) =>
          isInRange(one.namespace, namespaces) &&
          one.at >= from &&
          one.at < to &&
          (before === undefined || (last !== undefined && compareDocuments(last, one) < 0)),
      );
      const documents = found.slice(0, limit);
      const end = documents.at(-1);
      return { documents, position: found.length > limit && end ? positionOf(end) : undefined };
    },
    async kinds() {
      return [...kinds].filter(([, kept]) => kept.size > 0).map(([kind]) => kind);
    },
    async removeBefore(kind, at, most) {
      const old = documentsOf(kind)
        .filter((one) => one.at < at)
        .slice(-most);
      for (const { id, namespace } of old) kinds.get(kind)?.delete(nameOf(id, namespace));
      return old.length;
    },
    async usedBytes() {
      const sizes = [...kinds.values()].flatMap((kept) =>
        [...kept.values()].map(({ bytes }) => bytes.length),
      );
      return sizes.reduce((sum, size) => sum + size, 0);
    },
  };
}

function nameOf(id: string, namespace: Namespace): string {
  return `${id}\0${namespace}`;
}
