// The accounts of a server's store: what --quota, --floor and the rules of issuers say about namespaces.
import { usage } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import { type Namespace, parseNamespace } from '../../core/namespace.ts';
import type { AccountSettings } from '../../store/accounts.ts';
import { parseSizeLimit, type SizeLimit } from '../../store/size-limit.ts';
import { SERVER } from '../limits.ts';

export type SizeByNamespace = ReadonlyMap<Namespace, SizeLimit>;

/** The account of all pull requests that have no quota of their own. */
export const PULL_REQUESTS_ACCOUNT = 'pull requests';

/** `acme/pr=20GB` or `acme=50%`, once for each namespace. */
export function parseSizes(flag: string, texts: readonly string[]): SizeByNamespace {
  const sizes = new Map<Namespace, SizeLimit>();
  for (const text of texts) {
    const split = text.lastIndexOf('=');
    if (split <= 0)
      throw usage(`${flag} takes NAMESPACE=SIZE, such as acme/pr=20GB, not ${JSON.stringify(text)}`);
    const namespace = namespaceIn(flag, text.slice(0, split));
    if (sizes.has(namespace)) throw usage(`${flag} is given twice for ${namespace}`);
    sizes.set(namespace, parseSizeLimit(flag, text.slice(split + 1)));
  }
  return sizes;
}

function namespaceIn(flag: string, text: string): Namespace {
  try {
    return parseNamespace(text);
  } catch (error) {
    throw usage(`${flag}: ${error instanceof AssayError ? error.message : text}`);
  }
}

interface GivenSizes {
  readonly quotas: SizeByNamespace;
  readonly floors: SizeByNamespace;
}

/**
 * One for each namespace that is named, and one for all of `pullRequests` together: where rules of issuers let pull
 * requests write.
 */
export function accountsOf(
  { quotas, floors }: GivenSizes,
  pullRequests: readonly Namespace[],
): AccountSettings[] {
  const named = new Set([...quotas.keys(), ...floors.keys()]);
  const given = [...named].map((namespace) => ({
    name: namespace,
    namespaces: [namespace],
    quota: quotas.get(namespace),
    floor: floors.get(namespace),
  }));
  const places = pullRequests.filter((place) => !quotas.has(place));
  if (places.length === 0) return given;
  const quota = { share: SERVER.pullRequestShare };
  return [...given, { name: PULL_REQUESTS_ACCOUNT, namespaces: places, quota }];
}

/** What floors may promise together. */
interface MostFloors {
  readonly bytes: number;
  readonly name: string;
}

/** Throws if the store can't keep what the floors promise. */
export function refuseFloors(
  accounts: readonly AccountSettings[],
  storeBytes: number,
  most: MostFloors = { bytes: storeBytes, name: 'the limit of the store' },
): void {
  const bytesOf = ({ bytes, share = 1 }: SizeLimit) => bytes ?? share * storeBytes;
  for (const { name, quota, floor } of accounts)
    if (quota && floor && bytesOf(floor) > bytesOf(quota))
      throw usage(`the floor of ${name} is larger than its quota`);
  const promised = promisedBytes(accounts, bytesOf);
  if (promised > most.bytes)
    throw usage(
      `the floors are ${promised} bytes together, and ${most.name} is ${most.bytes}: lower --floor, or raise the limit`,
    );
}

/** The floor of a namespace covers those below it: the larger of the two counts. */
function promisedBytes(
  accounts: readonly AccountSettings[],
  bytesOf: (size: SizeLimit) => number,
  above = '',
): number {
  const isBelow = (name: string, base: string) => base === '' || name.startsWith(`${base}/`);
  const below = accounts.filter(({ name, floor }) => floor && isBelow(name, above));
  const outermost = below.filter(({ name }) => !below.some((other) => isBelow(name, other.name)));
  return outermost.reduce(
    (sum, { name, floor }) =>
      sum + Math.max(floor ? bytesOf(floor) : 0, promisedBytes(accounts, bytesOf, name)),
    0,
  );
}
