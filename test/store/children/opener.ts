// A child process that opens and closes a store again and again. It prints "opened N" at the end.
import { openDiskStore } from '../../../store/open.ts';

const [directory = '', countText = ''] = process.argv.slice(2);
let opened = 0;
for (let left = Number(countText); left > 0; left--) {
  const store = await openDiskStore({ directory });
  await store.close();
  opened++;
}
process.stdout.write(`opened ${opened}\n`);
