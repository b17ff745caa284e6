// A path whose last part is a key, and whose parts before it are a namespace.
import { parseNamespace } from '../../../core/namespace.ts';
import type { ArtifactKey } from './plain-adapter.ts';

export function namespaceAndKey(path: string, key: RegExp): ArtifactKey | undefined {
  const slash = path.lastIndexOf('/');
  const last = path.slice(slash + 1);
  if (!key.test(last)) return undefined;
  return { namespace: parseNamespace(slash === -1 ? '' : path.slice(0, slash)), key: last };
}
