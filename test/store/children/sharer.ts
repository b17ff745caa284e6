// A child process that puts blobs as three tenants until it is killed or done. Blob N is put by tenant N and by
// tenant N + 1, modulo three. It prints "TENANT N" after each put is durable.
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { digestOf } from '../../../core/digest.ts';
import { openDiskStore } from '../../../store/open.ts';
import { streamOf } from '../content.ts';
import { blobOf, tenantsWith } from './items.ts';

// Node writes its cache of compiled sources at the exit, which a killed process never reaches.
flushCompileCache();

const [directory = '', seedText = '', prefix = '', countText = 'Infinity'] = process.argv.slice(2);
const seed = Number(seedText);
const count = Number(countText);
const IN_FLIGHT = 4;

const store = await openDiskStore({ directory });
let next = 0;

async function work(): Promise<void> {
  for (let number = next++; number < count; number = next++) {
    const bytes = blobOf(seed, number);
    const puts = tenantsWith(prefix, number).map(async (name) => {
      await store.tenant(name).blobs.put(digestOf(bytes), streamOf(bytes, 65_536));
      writeSync(1, `${name} ${number}\n`);
    });
    await Promise.all(puts);
  }
}

writeSync(1, 'ready\n');
await Promise.all(Array.from({ length: IN_FLIGHT }, work));
await store.close();
