// A child process that puts small blobs, one commit for each, and asks for each at once. It prints the numbers
// of those that were missing although their put had resolved, and "put N" at the end.
import { digestOf } from '../../../core/digest.ts';
import { openDiskStore } from '../../../store/open.ts';
import { committedBy } from './items.ts';

const [directory = '', name = '', countText = ''] = process.argv.slice(2);
const count = Number(countText);
const store = await openDiskStore({ directory });
for (let number = 0; number < count; number++) {
  const bytes = committedBy(name, number);
  const digest = digestOf(bytes);
  await store.blobs.put(digest, bytes);
  const missing = await store.blobs.missing([digest]);
  if (missing.length > 0) process.stdout.write(`missing ${number}\n`);
}
process.stdout.write(`put ${count}\n`);
await store.close();
