// The methods of the Remote Asset API that a cache can serve.
import { type Methods, service } from '../../grpc/method.ts';
import { fetchBlob, fetchDirectory } from './fetch.ts';
import { pushBlob, pushDirectory } from './push.ts';

const ASSET = 'build.bazel.remote.asset.v1';

export const assetMethods: Methods = new Map([
  ...service(`${ASSET}.Fetch`, { FetchBlob: fetchBlob, FetchDirectory: fetchDirectory }),
  ...service(`${ASSET}.Push`, {}, { PushBlob: pushBlob, PushDirectory: pushDirectory }),
]);
