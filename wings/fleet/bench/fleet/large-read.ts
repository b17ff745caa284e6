// The time of a cold read of 64 MiB: through a server without a tier, through one with an empty tier, and by a bare
// GET of the bucket. Each blob is read once. A warm read from the tier is there for comparison.
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Pool } from 'undici';
import { median, table } from '../../../../bench/server/table.ts';
import type { Services } from './services.ts';
import { milliseconds, target } from './words.ts';

const SIZE = 64 * 1024 * 1024;
const ROUNDS = 7;
const MOST = 1.3;

export async function compareLargeRead(services: Services, folder: string): Promise<string> {
  const plain = await services.startNode();
  const tiered = await services.startNode('--tier', join(folder, 'tier'), '--tier-size', '4GB');
  const pools = [plain, tiered].map(({ origin }) => new Pool(origin, { connections: 1 }));
  const [plainPool, tieredPool] = pools;
  if (!plainPool || !tieredPool) throw new Error('a server is missing');
  const seen: Record<'bare' | 'plain' | 'cold' | 'warm', number[]> = {
    bare: [],
    plain: [],
    cold: [],
    warm: [],
  };
  const shared = randomBytes(SIZE - 16);
  for (let round = 0; round <= ROUNDS; round++) {
    const content = Buffer.concat([shared, randomBytes(16)]);
    const path = `/cas/${createHash('sha256').update(content).digest('hex')}`;
    const { statusCode, body } = await plainPool.request({ method: 'PUT', path, body: content });
    await body.dump();
    if (statusCode !== 200) throw new Error(`${statusCode} for PUT ${path}`);
    const name = crypto.randomUUID();
    await services.objects.put(name, content, SIZE);
    const reads = {
      bare: async () => received((await services.objects.get(name, 0, SIZE)) ?? []),
      plain: () => readBlob(plainPool, path),
      cold: () => readBlob(tieredPool, path),
      warm: () => readBlob(tieredPool, path),
    };
    for (const [kind, read] of entriesOf(reads)) {
      const began = performance.now();
      const size = await read();
      if (round > 0) seen[kind].push(performance.now() - began);
      if (size !== SIZE) throw new Error(`${size} bytes`);
    }
    await services.objects.delete([name]);
  }
  for (const pool of pools) await pool.close();
  await plain.stop();
  await tiered.stop();
  const base = median(seen.bare);
  const line = (name: string, values: readonly number[], most: number | undefined) => [
    name,
    milliseconds(median(values)),
    ...(most === undefined
      ? [(median(values) / base).toFixed(2)]
      : target(median(values) / base, most, 'times the bare GET')),
  ];
  return table([
    ['64 MiB, p50 in ms, one client', '', 'ratio', 'at most', ''],
    line('a bare GET of the bucket', seen.bare, undefined),
    line('cold, a server without a tier', seen.plain, MOST),
    line('cold, a server that fills its tier', seen.cold, MOST),
    line('the next read, from the tier if it is complete', seen.warm, undefined),
  ]);
}

async function readBlob(pool: Pool, path: string): Promise<number> {
  const { statusCode, body } = await pool.request({ method: 'GET', path });
  if (statusCode !== 200) throw new Error(`${statusCode} for GET ${path}`);
  return received(body);
}

async function received(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const piece of pieces) size += piece.length;
  return size;
}

function entriesOf<Name extends string, T>(record: Readonly<Record<Name, T>>): [Name, T][] {
  return Object.entries(record) as [Name, T][];
}
