// A child process: puts the blob of each number that it reads from standard input, and prints a line when it
// is durable.
import { createInterface } from 'node:readline';
import { digestOf } from '../../../core/digest.ts';
import { openDiskStore } from '../../../store/open.ts';
import { blobOf } from './items.ts';

const [directory = '', seedText = ''] = process.argv.slice(2);
const store = await openDiskStore({ directory });
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const bytes = blobOf(Number(seedText), Number(line));
  await store.blobs.put(digestOf(bytes), bytes);
  process.stdout.write(`${line}\n`);
}
await store.close();
