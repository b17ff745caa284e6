// A child process that looks a result up all the time, as a busy server does, so that its view of the index is
// always a moment old. For each key that it reads from standard input it looks that result up at once, and
// prints whether it is a hit.
import { openDiskStore } from '../../../store/open.ts';
import { addressOf } from '../content.ts';

const [directory = ''] = process.argv.slice(2);
const store = await openDiskStore({ directory });
let isOpen = true;

process.stdin.setEncoding('utf8');
process.stdin.on('data', async (text: string) => {
  const isHit = (await store.results.get(addressOf(text.trim()))) !== undefined;
  process.stdout.write(isHit ? 'hit\n' : 'miss\n');
});
process.stdin.on('end', () => {
  isOpen = false;
});

process.stdout.write('ready\n');
while (isOpen) {
  for (let times = 0; times < 20; times++) await store.blobs.missing([]);
  await store.results.get(addressOf('steady'));
  await new Promise((resolve) => setImmediate(resolve));
}
await store.close();
