// Path sets over HTTP, at /path-sets/v1/[NAMESPACE/]KEY. KEY is the key of an action:
//
//   GET                 the path sets of the action, the most recently used first
//   GET ?inlined=BYTES[&step=ID]
//                       the same, with a predicted result and small blobs up to that size. For a miss, with the
//                       earlier action of the step
//   GET ?find=MESSAGE   the first result of a FindResultRequest, in base64url, that is stored
//   PUT ?set=SHA256     adds a path set, which must be stored as a blob
//   PUT ?publish=KEY[&set=SHA256][&first=1]
//                       stores a result with its small blobs, and then adds the set
//   PUT ?rival=KEY      stores such a result beside the one that KEY has, if their outputs differ: a divergence
//
// Finding is a GET, because proxies and read-only mirrors pass on nothing else.
import { parseHash } from '../../../core/digest.ts';
import { decodeStrict } from '../../../core/message.ts';
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import { PATH_SETS_PATH } from '../../../core/path-set.ts';
import { FindResultRequest } from '../../../core/proto/generated/assay.ts';
import { FIND_RESULT } from '../../../core/proto/request-shapes.ts';
import type { Requirement } from '../../access/rights.ts';
import { CONTENT_ERRORS } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { receiveWhole } from '../../http/upload.ts';
import { type Adapter, methodNotAllowed, type RequestTarget } from '../shared/adapter.ts';
import { announcement } from './announcement.ts';
import { stepIn } from './earlier.ts';
import { addToList, findResult, GET_SETS, type ListName, listPathSets, PUT_SET } from './lists.ts';
import { PUBLISH, publishPathSet } from './publication.ts';

const PROTOBUF = ['content-type', 'application/x-protobuf', 'cache-control', 'no-cache'];

export const pathSets: Adapter = {
  protocol: 'path-sets',
  base: PATH_SETS_PATH,
  errors: CONTENT_ERRORS,
  async answer(exchange, target) {
    const query = new URLSearchParams(target.query);
    exchange.authorize(requirementOf(exchange.method, query));
    const name = parseName(target);
    const find = query.get('find');
    switch (exchange.method) {
      case 'GET':
      case 'HEAD': {
        const asked = find === null ? undefined : decodeFind(find);
        const accepted = exchange.method === 'HEAD' ? 0 : Number(query.get('inlined') ?? 0);
        const body = asked
          ? await findResult(exchange, name, asked)
          : await listPathSets(exchange, name, {
              accepted,
              takesPublications: true,
              step: stepIn(query.get('step')),
            });
        return exchange.answer(200, [...PROTOBUF, ...announcement(exchange)], body);
      }
      case 'PUT':
        if (isPublication(query)) return answerPublication(exchange, name, query);
        await addToList(exchange, name, parseHash(query.get('set') ?? ''));
        return exchange.answerStored([]);
      default:
        throw methodNotAllowed(exchange);
    }
  },
};

function requirementOf(method: string, query: URLSearchParams): Requirement {
  if (method !== 'PUT') return GET_SETS;
  return isPublication(query) ? PUBLISH : PUT_SET;
}

function isPublication(query: URLSearchParams): boolean {
  return query.has('publish') || query.has('rival');
}

async function answerPublication(exchange: Exchange, name: ListName, query: URLSearchParams): Promise<void> {
  const set = query.get('set');
  const rival = query.get('rival');
  const publication = {
    result: parseHash(rival ?? query.get('publish') ?? ''),
    set: set === null || rival !== null ? undefined : parseHash(set),
    isFirst: query.get('first') === '1',
    asRival: rival !== null,
  };
  const body = await receiveWhole(exchange, exchange.server.limits.maxBatchBytes);
  return exchange.answer(200, PROTOBUF, await publishPathSet(exchange, name, publication, body));
}

function parseName({ path }: RequestTarget): ListName {
  const slash = path.lastIndexOf('/');
  const namespace = parseRequestedNamespace(slash === -1 ? '' : path.slice(0, slash));
  return { namespace, key: parseHash(path.slice(slash + 1)) };
}

function decodeFind(text: string): FindResultRequest {
  const bytes = Buffer.from(text, 'base64url');
  return decodeStrict(
    FindResultRequest,
    FIND_RESULT,
    bytes,
    'find is not a FindResultRequest',
    'ASSAY_BAD_MESSAGE',
  );
}
