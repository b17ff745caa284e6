// A store that notes every call that could change it, also those that fail.
import type { Store } from '../../../store/store.ts';

export interface Change {
  readonly kind: 'blob' | 'result' | 'label' | 'upload';
  readonly tenant: string | undefined;
  /** The namespace of a result or a label, or the id of an upload. Empty for a blob. */
  readonly where: string;
}

export function journaled<S extends Store>(store: S, changes: Change[]): S {
  return { ...store, ...noting(store, undefined, changes) };
}

function noting(
  { blobs, results, labels, uploads, tenant }: Store,
  name: string | undefined,
  changes: Change[],
) {
  const note = (kind: Change['kind'], where: string) => changes.push({ kind, tenant: name, where });
  return {
    blobs: {
      ...blobs,
      put: (...args: Parameters<Store['blobs']['put']>) => {
        note('blob', '');
        return blobs.put(...args);
      },
    },
    results: {
      ...results,
      put: (...args: Parameters<Store['results']['put']>) => {
        note('result', args[0].namespace);
        return results.put(...args);
      },
      update: (...args: Parameters<Store['results']['update']>) => {
        note('result', args[0].namespace);
        return results.update(...args);
      },
    },
    labels: {
      ...labels,
      put: (...args: Parameters<Store['labels']['put']>) => {
        note('label', args[0].namespace);
        return labels.put(...args);
      },
    },
    uploads: {
      status: uploads.status,
      append: (...args: Parameters<Store['uploads']['append']>) => {
        note('upload', args[0]);
        return uploads.append(...args);
      },
      cancel: (id: string) => {
        note('upload', id);
        return uploads.cancel(id);
      },
    },
    tenant(of: string): Store {
      const view = tenant(of);
      return { ...view, ...noting(view, of, changes) };
    },
  };
}
