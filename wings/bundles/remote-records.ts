// The records of a server, for `assay export --remote`. Their content comes into the local store, which verifies it.
// Guarantee: the token decides which records come. The client checks each of them as it checks those of a bundle.
import type { Dispatcher } from 'undici';
import { authorization } from '../../client/remote/authorization.ts';
import { fetchContent } from '../../client/remote/fetch-content.ts';
import { RemoteFault } from '../../client/remote/remote.ts';
import { download } from '../../client/remote/transfer.ts';
import { serverAddress } from '../../client/remote/url.ts';
import { type Digest, DigestSet } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { decodeResult, referencedContent } from '../../core/result.ts';
import { filesInTree } from '../../core/tree.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Store, StoredResult } from '../../store/store.ts';
import type { RecordSource, SourceResult } from './export/source.ts';
import type { WantedResult } from './export/wanted.ts';
import { type BundleRecord, decodeRecord } from './format/records.ts';
import { Spool } from './format/spool.ts';
import { BUNDLE } from './limits.ts';
import { RECORDS_PATH, type RecordsRequest } from './records-request.ts';
import { orRemoteFault, type RemoteKinds, type RemotePlace } from './remote-destination.ts';

interface ServerRecords extends RecordSource {
  close(): void;
}

export async function serverRecords(
  place: RemotePlace,
  wanted: WantedResult,
  kinds: RemoteKinds,
  store: Store,
): Promise<ServerRecords> {
  const spool = new Spool();
  try {
    await listInto(spool, place, wanted);
  } catch (error) {
    spool.close();
    throw error;
  }
  const remote = await kinds.at(DEFAULT_NAMESPACE);
  function* records(): Generator<BundleRecord> {
    for (const line of spool.lines()) yield decodeRecord(line);
  }
  return {
    async *labels() {
      for (const record of records()) if ('label' in record) yield record.label;
    },
    async *sets() {
      await fetchBlobs(records(), store, remote);
      let last: Digest | undefined;
      for (const record of records()) {
        if ('blob' in record) last = record.blob;
        else if ('set' in record && last?.hash === record.set.set)
          yield { action: record.set.action, set: last };
      }
    },
    async *results() {
      for (const record of records())
        if ('result' in record)
          yield { in: record.result.in, key: record.result.key, bytes: record.result.message };
    },
    get: ({ bytes }) => fetched(bytes, store, remote),
    close: () => spool.close(),
  };
}

/** However long it takes: somebody waits for the file. */
const WORTH_IT = Number.MAX_SAFE_INTEGER;

/** Path sets, and messages of actions. */
async function fetchBlobs(
  records: Iterable<BundleRecord>,
  { blobs }: Store,
  remote: Awaited<ReturnType<RemoteKinds['at']>>,
): Promise<void> {
  let page: Digest[] = [];
  const fetchPage = async () => {
    await orRemoteFault(download(page, blobs, remote, () => {}, WORTH_IT));
    page = [];
  };
  for (const record of records)
    if ('blob' in record && page.push(record.blob) >= BUNDLE.askedAtOnce) await fetchPage();
  await fetchPage();
}

async function fetched(
  bytes: SourceResult['bytes'],
  { blobs }: Store,
  remote: Awaited<ReturnType<RemoteKinds['at']>>,
): Promise<StoredResult | undefined> {
  const result = decodeResult(bytes);
  try {
    await fetchContent(
      result,
      blobs,
      remote,
      () => {},
      async () => undefined,
      WORTH_IT,
    );
  } catch (error) {
    /* It was evicted there meanwhile. */
    if (error instanceof RemoteFault && remote.usable) return undefined;
    throw error instanceof RemoteFault ? new AssayError('ASSAY_NO_ANSWER', messageOf(error)) : error;
  }
  const references = new DigestSet();
  const { blobs: named, trees } = referencedContent(result);
  for (const digest of named) references.add(digest);
  for (const { hash } of trees)
    for (const leaf of filesInTree(await readBlob(hash, blobs))) references.add(leaf);
  return { bytes, references: references.values() };
}

async function listInto(
  spool: Spool,
  { url, token }: RemotePlace,
  { keys, labels, since }: WantedResult,
): Promise<void> {
  const { request, Agent } = await import('undici');
  const dispatcher: Dispatcher = new Agent();
  const namespace = url.pathname.replace(/^\/+|\/+$/g, '');
  const asked: RecordsRequest = {
    namespace,
    keys,
    labels,
    ...(since !== undefined && { since: new Date(since).toISOString() }),
  };
  const address = serverAddress(url);
  try {
    const headers = { ...authorization(url, token), 'content-type': 'application/json' };
    const answer = await request(`${address}${RECORDS_PATH}`, {
      ...{ method: 'POST' as const, headers, body: JSON.stringify(asked), dispatcher },
    });
    if (answer.statusCode !== 200)
      throw noRecords(`${address} answered ${answer.statusCode}: ${await shortText(answer)}`);
    for await (const piece of answer.body) {
      if (spool.bytes > BUNDLE.maxManifestBytes) throw noRecords(`the list of ${address} does not end`);
      spool.add(Buffer.from(piece));
    }
  } catch (error) {
    throw error instanceof AssayError ? error : noRecords(`${address}: ${messageOf(error)}`);
  } finally {
    await dispatcher.destroy();
  }
  let isWhole = false;
  for (const line of spool.lines()) isWhole = 'made' in decodeRecord(line);
  if (!isWhole) throw noRecords(`the list of ${address} was cut`);
}

async function shortText({ body }: Dispatcher.ResponseData): Promise<string> {
  return (await body.text()).slice(0, BUNDLE.shownAnswer);
}

function noRecords(detail: string): AssayError {
  return new AssayError('ASSAY_NO_ANSWER', detail);
}
