// The recorded process: fills a store in two sessions, as two tenants, and prints what is durable.
import { writeSync } from 'node:fs';
import { digestOf } from '../../../core/digest.ts';
import { openDiskStore } from '../../../store/open.ts';
import { streamOf } from '../../store/content.ts';
import { blobOf, FIRST_TENANT, resultOf, tenantsOf } from './items.ts';

const [directory = '', seedText = '', countText = ''] = process.argv.slice(2);
const seed = Number(seedText);
const count = Number(countText);
const AT_ONCE = 3;

async function store(from: number, to: number): Promise<void> {
  const opened = await openDiskStore({ directory });
  let next = from;
  const work = async (): Promise<void> => {
    for (let number = next++; number < to; number = next++) {
      const bytes = blobOf(seed, number);
      for (const name of tenantsOf(number))
        await opened.tenant(name).blobs.put(digestOf(bytes), streamOf(bytes, 65_536));
      writeSync(1, `blob ${number}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  for (let number = from; number < to; number++) {
    const { address, bytes } = resultOf(seed, number);
    await opened.tenant(FIRST_TENANT).results.put(address, bytes);
    writeSync(1, `result ${number}\n`);
  }
  await opened.close();
}

await store(0, Math.floor(count / 2));
await store(Math.floor(count / 2), count);
