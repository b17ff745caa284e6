// Path sets over gRPC: the service assay.v1.PathSets, which is Assay's own. Other servers answer
// UNIMPLEMENTED.
import { parseHash } from '../../../core/digest.ts';
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import { PATH_SETS_SERVICE } from '../../../core/path-set.ts';
import {
  AddPathSetRequest,
  FindResultRequest,
  ListPathSetsRequest,
} from '../../../core/proto/generated/assay.ts';
import { FIND_RESULT, FLAT } from '../../../core/proto/request-shapes.ts';
import { type Methods, service, singleRequest } from '../../grpc/method.ts';
import { announcement } from './announcement.ts';
import { stepIn } from './earlier.ts';
import {
  addToList,
  findResult,
  GET_SETS,
  type ListName,
  type ListOptions,
  listPathSets,
  PUT_SET,
} from './lists.ts';

const NOTHING = new Uint8Array(0);

const list = singleRequest(ListPathSetsRequest, FLAT, async (request, call) => {
  call.answer(await listPathSets(call, nameOf(request), optionsOf(request)), announcement(call));
});

const find = singleRequest(FindResultRequest, FIND_RESULT, async (request, call) => {
  call.answer(await findResult(call, nameOf(request), request));
});

const add = singleRequest(AddPathSetRequest, FLAT, async (request, call) => {
  await addToList(call, nameOf(request), parseHash(request.set));
  call.answer(NOTHING);
});

export const pathSetMethods: Methods = service(PATH_SETS_SERVICE, {
  List: [GET_SETS, list],
  Find: [GET_SETS, find],
  Add: [PUT_SET, add],
});

/** Blobs already come in batches over gRPC, so there is no method for publications. */
function optionsOf({ inlinedBytes, step }: ListPathSetsRequest): ListOptions {
  return { accepted: inlinedBytes, takesPublications: false, step: stepIn(step) };
}

function nameOf({ instanceName, key }: { instanceName: string; key: string }): ListName {
  return { namespace: parseRequestedNamespace(instanceName), key: parseHash(key) };
}
