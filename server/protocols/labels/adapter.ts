// Labels over HTTP, for `assay save`, `assay restore`, the state of steps and checkpoints. At
// /labels/v1/NAMESPACE:
//
//   GET ?exact=LABEL&prefix=PREFIX&prefix=…   {"label","key"} of that label, else of the newest with a prefix; or 404
//   PUT ?label=LABEL&key=HASH                 200, or 409 if the label names other content that is still stored
import { parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { LABELS_PATH } from '../../../core/labels.ts';
import { type Namespace, parseNamespace } from '../../../core/namespace.ts';
import { jsonErrors } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { answerJson } from '../../http/json.ts';
import { type Adapter, methodNotAllowed } from '../shared/adapter.ts';

export const labels: Adapter = {
  protocol: 'labels',
  base: LABELS_PATH,
  errors: jsonErrors('GET, PUT'),
  async answer(exchange, { path, query }) {
    exchange.authorize();
    const namespace = parseNamespace(path);
    const asked = new URLSearchParams(query);
    switch (exchange.method) {
      case 'GET':
        return find(exchange, namespace, asked);
      case 'PUT':
        exchange.authorizeWrite();
        return put(exchange, namespace, asked);
      default:
        throw methodNotAllowed(exchange);
    }
  },
};

async function find(exchange: Exchange, namespace: Namespace, asked: URLSearchParams): Promise<void> {
  const { store, metrics } = exchange.server;
  const found = await store.labels.newest(namespace, asked.getAll('prefix'), asked.get('exact') ?? undefined);
  metrics.lookedUp('labels', found !== undefined);
  if (found) answerJson(exchange, found);
  else exchange.answerMiss();
}

async function put(exchange: Exchange, namespace: Namespace, asked: URLSearchParams): Promise<void> {
  const label = asked.get('label') ?? '';
  const { store, lifecycle } = exchange.server;
  const key = parseHash(asked.get('key') ?? '');
  const outcome = await lifecycle.whileWriting(() => store.labels.put({ namespace, label }, key));
  if (outcome === 'taken') {
    throw new AssayError(
      'ASSAY_LABEL_TAKEN',
      `${JSON.stringify(label.slice(0, 100))} already names other content`,
    );
  }
  exchange.answerStored([]);
}
