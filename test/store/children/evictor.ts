// A child process that writes into a small, full store until it is killed, so that it evicts constantly. It
// prints a line after each durable write: "result N TIME" (with its blobs), "part N" (an upload's committed
// bytes), "refused N".
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { digestOf } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { openDiskStore } from '../../../store/open.ts';
import { addressOf, resultNaming } from '../content.ts';
import { EVICTED, uploadOf } from './evicted.ts';

// Node writes its cache of compiled sources at the exit, which a killed process never reaches.
flushCompileCache();

const [directory = '', seedText = ''] = process.argv.slice(2);
const seed = Number(seedText);
const store = await openDiskStore({ directory, ...EVICTED.options });
writeSync(1, 'ready\n');

async function putResult(number: number): Promise<void> {
  try {
    const contents = EVICTED.contentsOf(seed, number);
    const digests = await Promise.all(contents.map((bytes) => store.blobs.put(digestOf(bytes), bytes)));
    await store.results.put(addressOf(`${seed}/${number}`), resultNaming(...digests));
    writeSync(1, `result ${number} ${process.hrtime.bigint() / 1_000_000n}\n`);
  } catch (error) {
    if (!(error instanceof AssayError) || error.code !== 'ASSAY_STORE_FULL') throw error;
    writeSync(1, `refused ${number}\n`);
  }
}

/** One upload that each child continues. */
async function appendPart(): Promise<void> {
  const bytes = uploadOf();
  const { committed = 0 } = (await store.uploads.status(EVICTED.upload)) ?? {};
  const end = Math.min(bytes.length, committed + 150_000);
  if (committed === bytes.length) return;
  const content = bytes.subarray(committed, end);
  const part = { expected: digestOf(bytes), offset: committed, content, isLast: end === bytes.length };
  const status = await store.uploads.append(EVICTED.upload, part);
  writeSync(1, `part ${status.committed}\n`);
}

let next = 0;
async function work(): Promise<void> {
  for (;;) {
    const number = next++;
    await putResult(number);
    await store.results.get(addressOf(`${seed}/${Math.max(0, number - 3)}`));
    if (number % 8 === 0) await appendPart().catch(() => {});
  }
}

await Promise.all([work(), work(), work()]);
