// Path sets over HTTP, at /path-sets/v1/[NAMESPACE/]KEY. KEY is the key of an action:
//
//   GET                 the path sets of the action, the most recently used first
//   GET ?inlined=BYTES  the same, with a predicted result and small blobs up to that size
//   GET ?find=MESSAGE   the first result of a FindResultRequest, in base64url, that is stored
//   PUT ?set=SHA256     adds a path set, which must be stored as a blob
//
// Finding is a GET, because proxies and read-only mirrors pass on nothing else.
import { parseHash } from '../../../core/digest.ts';
import { decodeStrict } from '../../../core/message.ts';
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import { PATH_SETS_PATH } from '../../../core/path-set.ts';
import { FindResultRequest } from '../../../core/proto/generated/assay.ts';
import { FIND_RESULT } from '../../../core/request-shapes.ts';
import { CONTENT_ERRORS } from '../../http/error-response.ts';
import { type Adapter, methodNotAllowed, type RequestTarget } from '../shared/adapter.ts';
import { announcement } from './announcement.ts';
import { addPathSet, findResult, GET_SETS, type ListName, listPathSets, PUT_SET } from './lists.ts';

const PROTOBUF = ['content-type', 'application/x-protobuf', 'cache-control', 'no-cache'];

export const pathSets: Adapter = {
  protocol: 'path-sets',
  base: PATH_SETS_PATH,
  errors: CONTENT_ERRORS,
  async answer(exchange, target) {
    exchange.authorize(exchange.method === 'PUT' ? PUT_SET : GET_SETS);
    const name = parseName(target);
    const query = new URLSearchParams(target.query);
    const find = query.get('find');
    switch (exchange.method) {
      case 'GET':
      case 'HEAD': {
        const asked = find === null ? undefined : decodeFind(find);
        const accepted = exchange.method === 'HEAD' ? 0 : Number(query.get('inlined') ?? 0);
        const body = asked
          ? await findResult(exchange, name, asked)
          : await listPathSets(exchange, name, accepted);
        return exchange.answer(200, [...PROTOBUF, ...announcement(exchange)], body);
      }
      case 'PUT':
        await addPathSet(exchange, name, parseHash(query.get('set') ?? ''));
        return exchange.answerStored([]);
      default:
        throw methodNotAllowed(exchange);
    }
  },
};

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
