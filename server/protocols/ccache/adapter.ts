// ccache's remote storage over HTTP: /ccache/[NAMESPACE/]KEY, with the key in one of three layouts.
//
//   subdirs   75/9bfs…           the default
//   flat      759bfs…            the same key in one part
//   bazel     ac/<64 hex>        looks like an action's hash but is not one, so ccache has its own base path
//
// New content replaces the old: manifests grow with every compilation, and results contain their time.
import { parseRequestedNamespace } from '../../../core/namespace.ts';
import { type ArtifactKey, plainAdapter } from '../shared/plain-adapter.ts';

const NAMESPACE = '(?:(?<namespace>.+)/)?';
const BAZEL = new RegExp(`^${NAMESPACE}(?<key>ac/[0-9a-f]{64})$`);
const SUBDIRS = new RegExp(`^${NAMESPACE}(?<first>[0-9a-v]{2})/(?<rest>[0-9a-v]{16,126})$`);
const FLAT = new RegExp(`^${NAMESPACE}(?<key>[0-9a-v]{18,128})$`);

export const ccache = plainAdapter({
  protocol: 'ccache',
  base: '/ccache/',
  form: '/ccache/[NAMESPACE/]KEY in one of ccache’s layouts: 75/9bfs…, 759bfs… or ac/<64 hex>',
  parseKey,
  replace: true,
});

/** subdirs and flat give the same key. The bazel layout truncates keys, so its entries are separate. */
function parseKey(path: string): ArtifactKey | undefined {
  const found = (BAZEL.exec(path) ?? SUBDIRS.exec(path) ?? FLAT.exec(path))?.groups;
  if (!found) return undefined;
  const { namespace = '', key, first, rest } = found;
  return { namespace: parseRequestedNamespace(namespace), key: key ?? `${first}${rest}` };
}
