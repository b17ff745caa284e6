// Whether the local store and the remote work, and what the remote lacks yet.
import { statfsSync } from 'node:fs';
import { Outbox } from '../../../client/local-store/outbox.ts';
import { openRemote } from '../../../client/remote/open.ts';
import { remoteToken } from '../../../client/remote/token.ts';
import { parseRemoteUrl } from '../../../client/remote/url.ts';
import { digestOf } from '../../../core/digest.ts';
import { messageOf } from '../../../core/errors.ts';
import { AGENTS } from '../limits.ts';

export interface StoreStatus {
  readonly folder: string;
  /** Undefined if the folder does not exist yet. */
  readonly freeBytes?: number;
}

export interface RemoteStatus {
  /** Without a name and a password. */
  readonly url: string;
  readonly usable: boolean;
  readonly why?: string;
  readonly waiting: number;
}

export function storeStatus(folder: string): StoreStatus {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return { folder, freeBytes: bavail * bsize };
  } catch {
    return { folder };
  }
}

/** Asks for a result that does not exist, as `assay doctor` does. */
export async function remoteStatus(
  text: string | undefined,
  store: string,
): Promise<RemoteStatus | undefined> {
  if (text === undefined) return undefined;
  const url = parseRemoteUrl(text);
  const token = remoteToken();
  const waiting = new Outbox(store, url, token).entries().length;
  const told = { url: shown(url), waiting };
  const remote = await openRemote({ url, token, now: Date.now });
  try {
    await within(remote.getResult(digestOf(Buffer.from('a result that nobody made'))));
    return { ...told, usable: true };
  } catch (error) {
    return { ...told, usable: false, why: messageOf(error) };
  } finally {
    void remote.close();
  }
}

function shown(url: URL): string {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare.href;
}

function within<T>(asked: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('it did not answer in time')), AGENTS.remoteMs);
  return Promise.race([asked, promise]).finally(() => clearTimeout(timer));
}
