// The latency of FindMissing and of a hit of a result, one client: through a server of the fleet, through an embedded
// server, and by one bare query. Each FindMissing names blobs that the server was not asked for before, so that
// what it remembers does not help.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Pool } from 'undici';
import { Client } from '../../../../bench/grpc/client.ts';
import { OUTPUTS_OF_A_RESULT, putResults } from '../../../../bench/server/results.ts';
import { median, table } from '../../../../bench/server/table.ts';
import {
  BatchUpdateBlobsRequest,
  FindMissingBlobsRequest,
  FindMissingBlobsResponse,
} from '../../../../core/proto/generated/reapi-services.ts';
import { hashArray } from '../../engine/index/database.ts';
import type { Services } from './services.ts';
import { milliseconds, target } from './words.ts';

const DIGESTS = 1000;
const ROUNDS = 60;
const WARM_UP = 10;
const HITS = 400;
const HIT_WARM_UP = 400;
const BLOB_BYTES = 64;
const PREFIX = '/bench';
const CAS = '/build.bazel.remote.execution.v2.ContentAddressableStorage';

/** Each returns what it waits for, for the round with that number. */
type Contest = Readonly<Record<string, (round: number) => Promise<unknown>>>;

export async function compareLatency(services: Services, folder: string): Promise<string> {
  const fleet = await services.startNode();
  const embedded = await services.startEmbedded(join(folder, 'embedded'));
  const found = await compareFindMissing(services, fleet.origin, embedded.origin);
  const hits = await compareHits(services, fleet.origin, embedded.origin);
  await fleet.stop();
  await embedded.stop();
  return table([
    ['p50 in ms, one client', 'fleet', 'embedded', 'bare query', 'ratio', 'at most', ''],
    ...found,
    ...hits,
  ]);
}

/** The median of each, in turns. */
async function inTurns(rounds: number, warmUp: number, contest: Contest): Promise<Map<string, number>> {
  const seen = new Map(Object.keys(contest).map((name): [string, number[]] => [name, []]));
  for (let round = 0; round < warmUp + rounds; round++) {
    for (const [name, ask] of Object.entries(contest)) {
      const began = performance.now();
      await ask(round);
      if (round >= warmUp) seen.get(name)?.push(performance.now() - began);
    }
  }
  return new Map([...seen].map(([name, values]) => [name, median(values)]));
}

async function compareFindMissing(
  { database }: Services,
  fleet: string,
  embedded: string,
): Promise<string[][]> {
  const sets = Array.from({ length: ROUNDS + WARM_UP }, (_, set) =>
    Array.from({ length: DIGESTS }, (_, at) => contentOf(set, at)),
  );
  for (const contents of sets)
    await database.query(
      `INSERT INTO assay.presence SELECT hash, 1, ${BLOB_BYTES}, c.tick, '{}'
       FROM unnest($1::bytea[]) AS hash, assay.clock c`,
      [hashArray(contents.map(hashOf))],
    );
  await database.query('VACUUM (ANALYZE) assay.presence');
  const [fleetClient, embeddedClient] = [await Client.open(fleet, 1), await Client.open(embedded, 1)];
  const kept = sets[0] ?? [];
  await embeddedClient.unary(`${CAS}/BatchUpdateBlobs`, uploadOf(kept));
  const bare = (hashes: readonly string[]) =>
    database.query({ name: 'bare any', text: BARE_ANY, values: [hashArray(hashes)] });
  const ask = async (client: Client, hashes: readonly string[], missing: number) => {
    const [answer = Buffer.alloc(0)] = await client.unary(`${CAS}/FindMissingBlobs`, questionOf(hashes));
    if (FindMissingBlobsResponse.decode(answer).missingBlobDigests.length !== missing)
      throw new Error('a wrong answer of FindMissingBlobs');
  };
  const hashes = sets.map((contents) => contents.map(hashOf));
  const absent = sets.map((_, set) => kept.map((_content, at) => hashOf(contentOf(-1 - set, at))));
  const present = await inTurns(ROUNDS, WARM_UP, {
    bare: (round) => bare(hashes[round] ?? []),
    fleet: (round) => ask(fleetClient, hashes[round] ?? [], 0),
    embedded: () => ask(embeddedClient, hashes[0] ?? [], 0),
  });
  const missing = await inTurns(ROUNDS, WARM_UP, {
    bare: (round) => bare(absent[round] ?? []),
    fleet: (round) => ask(fleetClient, absent[round] ?? [], DIGESTS),
    embedded: (round) => ask(embeddedClient, absent[round] ?? [], DIGESTS),
  });
  fleetClient.close();
  embeddedClient.close();
  const line = (name: string, seen: ReadonlyMap<string, number>, most: number | undefined) => {
    const [mine, base] = [seen.get('fleet') ?? 0, seen.get('bare') ?? 0];
    return [
      name,
      milliseconds(mine),
      milliseconds(seen.get('embedded')),
      milliseconds(base),
      ...(most === undefined
        ? [(mine / base).toFixed(2)]
        : target(mine / base, most, 'times the bare query')),
    ];
  };
  return [
    line(`FindMissing(${DIGESTS}), all present`, present, 3),
    line(`FindMissing(${DIGESTS}), none present`, missing, undefined),
  ];
}

const BARE_ANY = 'SELECT hash, size FROM assay.presence WHERE hash = ANY ($1::bytea[])';

async function compareHits({ database }: Services, fleet: string, embedded: string): Promise<string[][]> {
  const pools = {
    fleet: new Pool(fleet, { connections: 1 }),
    embedded: new Pool(embedded, { connections: 1 }),
  };
  const paths = { fleet: await filled(fleet), embedded: await filled(embedded) };
  const get = async (server: 'fleet' | 'embedded', round: number) => {
    const path = paths[server][round % paths[server].length] ?? '';
    const { statusCode, body } = await pools[server].request({ method: 'GET', path });
    await body.dump();
    if (statusCode !== 200) throw new Error(`${statusCode} for ${path}`);
  };
  const keys = paths.fleet.map((path) => Buffer.from(path.slice(-64), 'hex'));
  const before = await statementsOf(fleet);
  const seen = await inTurns(HITS, HIT_WARM_UP, {
    bare: (round) =>
      database.query({ name: 'bare key', text: BARE_KEY, values: ['bench', keys[round % keys.length]] }),
    fleet: (round) => get('fleet', round),
    embedded: (round) => get('embedded', round),
  });
  const statements = ((await statementsOf(fleet)) - before) / (HITS + HIT_WARM_UP);
  for (const pool of Object.values(pools)) await pool.close();
  const [mine, own, base] = [seen.get('fleet') ?? 0, seen.get('embedded') ?? 0, seen.get('bare') ?? 0];
  return [
    [
      `GET /ac, a hit, ${OUTPUTS_OF_A_RESULT} outputs checked`,
      ...[mine, own, base].map(milliseconds),
      ...target(mine / (own + base), 1.3, 'times (embedded + bare)'),
    ],
    ['statements for each of them', statements.toFixed(2), '', '', ...target(statements, 1, '')],
  ];
}

const BARE_KEY = 'SELECT bytes FROM assay.result WHERE namespace = $1 AND key = $2';

/** Puts results, and returns their paths. */
async function filled(origin: string): Promise<string[]> {
  const pool = new Pool(origin, { connections: 1 });
  const blobs: string[] = [];
  for (let at = 0; at < 200; at++) {
    const content = contentOf(-1_000_000, at);
    const path = `${PREFIX}/cas/${hashOf(content)}`;
    const { statusCode, body } = await pool.request({ method: 'PUT', path, body: content });
    await body.dump();
    if (statusCode !== 200) throw new Error(`${statusCode} for PUT ${path}`);
    blobs.push(path);
  }
  await pool.close();
  return (await putResults(origin, blobs, { prefix: PREFIX, bytes: BLOB_BYTES })).paths;
}

/** How many statements this server has sent for requests. Those of its clock and janitor do not count. */
async function statementsOf(origin: string): Promise<number> {
  const page = await (await fetch(`${origin}/metrics`)).text();
  const counts = page.matchAll(
    /^assay_index_duration_seconds_count\{statement="(result|presence|blob|tenant)"\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, , count]) => sum + Number(count), 0);
}

function contentOf(set: number, at: number): Buffer {
  return Buffer.from(`${set} ${at}`.padEnd(BLOB_BYTES));
}

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function questionOf(hashes: readonly string[]): Uint8Array {
  const blobDigests = hashes.map((hash) => ({ hash, sizeBytes: BLOB_BYTES }));
  return FindMissingBlobsRequest.encode({ instanceName: '', blobDigests, digestFunction: 0 }).finish();
}

function uploadOf(contents: readonly Buffer[]): Uint8Array {
  return BatchUpdateBlobsRequest.encode({
    instanceName: '',
    requests: contents.map((data) => ({
      digest: { hash: hashOf(data), sizeBytes: data.length },
      data,
      compressor: 0,
    })),
    digestFunction: 0,
  }).finish();
}
