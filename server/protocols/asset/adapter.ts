// The methods of the Remote Asset API that a cache can serve.
import { all } from '../../access/rights.ts';
import { type Methods, service } from '../../grpc/method.ts';
import { fetchBlob, fetchDirectory } from './fetch.ts';
import { pushBlob, pushDirectory } from './push.ts';

const ASSET = 'build.bazel.remote.asset.v1';

export const assetMethods: Methods = new Map([
  ...service(`${ASSET}.Fetch`, {
    FetchBlob: [all('results:read'), fetchBlob],
    FetchDirectory: [all('results:read'), fetchDirectory],
  }),
  ...service(`${ASSET}.Push`, {
    PushBlob: [all('results:write'), pushBlob],
    PushDirectory: [all('results:write'), pushDirectory],
  }),
]);
