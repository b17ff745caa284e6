// A child process that puts blobs and results until it is killed or done. It prints "blob N" or "result N"
// after each is durable.
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { digestOf } from '../../../core/digest.ts';
import { openDiskStore } from '../../../store/open.ts';
import { streamOf } from '../content.ts';
import { blobOf, resultOf } from './items.ts';

// Node writes its cache of compiled sources at the exit, which a killed process never reaches.
flushCompileCache();

const [directory = '', seedText = '', countText = 'Infinity'] = process.argv.slice(2);
const seed = Number(seedText);
const count = Number(countText);
const IN_FLIGHT = 4;

const store = await openDiskStore({ directory });
const stored = new Map<number, Promise<void>>();
let next = 0;

async function putBlob(number: number): Promise<void> {
  const bytes = blobOf(seed, number);
  await store.blobs.put(digestOf(bytes), streamOf(bytes, 65_536));
  writeSync(1, `blob ${number}\n`);
}

async function putResult(number: number): Promise<void> {
  await Promise.all([stored.get(number), stored.get(number - 1)]);
  const { address, bytes } = resultOf(seed, number);
  await store.results.put(address, bytes);
  writeSync(1, `result ${number}\n`);
}

async function work(): Promise<void> {
  for (let number = next++; number < count; number = next++) {
    const put = putBlob(number);
    stored.set(number, put);
    await put;
    await putResult(number);
  }
}

writeSync(1, 'ready\n');
await Promise.all(Array.from({ length: IN_FLIGHT }, work));
await store.close();
