// Entries that one version of a server stores and another one finds: over every protocol that both have of tools with keys
// of their own, and the plain HTTP cache of Bazel.
import type { Dispatcher } from 'undici';
import { concurrently } from '../../core/concurrently.ts';
import { digestOf } from '../../core/digest.ts';
import { type ProtocolClient, protocolClients } from '../crash/protocol-clients.ts';
import { addressOf, contentOf, resultNaming } from '../store/content.ts';
import { EARLIER_LACKS } from './earlier.ts';

export const AT_ONCE = 16;

/** Some lie inside the index, some in files, some have several chunks. */
const SIZES = [300, 20_000, 100_000, 1_200_000];

export interface Entry {
  readonly client: string;
  readonly key: string;
  readonly content: Buffer;
}

export function clientsOf(url: string, dispatcher: Dispatcher): ProtocolClient[] {
  const bazel: ProtocolClient = {
    name: 'bazel',
    async upload(key, content) {
      const digest = digestOf(content);
      const put = (path: string, body: Buffer) => fetch(`${url}/${path}`, { method: 'PUT', body });
      return (
        (await put(`cas/${digest.hash}`, content)).ok && (await put(`ac/${key}`, resultNaming(digest))).ok
      );
    },
    async find(key, content) {
      const { hash } = digestOf(content);
      if (!(await fetch(`${url}/ac/${key}`)).ok) return undefined;
      return Buffer.from(await (await fetch(`${url}/cas/${hash}`)).arrayBuffer());
    },
  };
  const ofBoth = protocolClients(url, dispatcher).filter(({ name }) => !EARLIER_LACKS.includes(name));
  return [bazel, ...ofBoth];
}

/** The protocols in turns, then the sizes. */
export function entryOf(clients: readonly ProtocolClient[], prefix: string, at: number): Entry {
  return {
    client: clients[at % clients.length]?.name ?? '',
    key: addressOf(`${prefix} ${at}`).key,
    content: contentOf(`${prefix} ${at}`, SIZES[Math.floor(at / clients.length) % SIZES.length] ?? 0),
  };
}

/** False if the server refused it. */
export async function store(
  clients: readonly ProtocolClient[],
  { client, key, content }: Entry,
): Promise<boolean> {
  return (await clients.find(({ name }) => name === client)?.upload(key, content)) ?? false;
}

export async function storeAll(clients: readonly ProtocolClient[], entries: readonly Entry[]): Promise<void> {
  await concurrently(entries, AT_ONCE, async (entry) => {
    if (!(await store(clients, entry))) throw new Error(`${entry.client} could not store ${entry.key}`);
  });
}

/** The names of the entries that are not found whole. */
export async function lost(clients: readonly ProtocolClient[], entries: readonly Entry[]): Promise<string[]> {
  const missing: string[] = [];
  await concurrently(entries, AT_ONCE, async ({ client, key, content }) => {
    const found = await clients.find(({ name }) => name === client)?.find(key, content);
    if (!found?.equals(content)) missing.push(`${client} ${key}`);
  });
  return missing;
}
