// A child process that reads a whole store again and again: it verifies everything, then copies everything, as
// `assay verify` and `assay store copy` do. It prints "verified N" and "copied N" with the number of blobs.
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { copyStore } from '../../../store/migration/copy.ts';
import { openDiskStore } from '../../../store/open.ts';
import { newProgress, scrub } from '../../../store/scrub/scrub.ts';
import { memoryEngine } from '../../rig/stores/memory/engine.ts';

flushCompileCache();

const [directory = ''] = process.argv.slice(2);
const store = await openDiskStore({ directory });
let isOpen = true;
process.stdin.resume().on('end', () => {
  isOpen = false;
});
writeSync(1, 'ready\n');

async function verifyAll(): Promise<void> {
  const inspection = await store.inspect?.();
  if (!inspection) throw new Error('a disk store can be inspected');
  const found = await scrub(newProgress(Date.now()), {
    inspection,
    throttle: undefined,
    now: Date.now,
    onProgress() {},
  });
  if (found?.damaged !== 0) throw new Error(`damaged: ${JSON.stringify(found?.damage)}`);
  writeSync(1, `verified ${found.blobs}\n`);
}

async function copyAll(): Promise<void> {
  const { seen } = await copyStore({ from: store.engine, to: memoryEngine(), onProgress() {} });
  writeSync(1, `copied ${seen.blobs}\n`);
}

while (isOpen) {
  await verifyAll();
  await copyAll();
}
await store.close();
