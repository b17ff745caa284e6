// A child process that loads the index of a full store until its input ends or it is killed: puts of many sizes,
// results, labels, documents, reads and the eviction that all of it needs. It prints "wrote N" now and then, and
// "failed 1" for each write whose commit LMDB refused twice because of its free list (docs/decisions/0473). It exits
// with 1 after any damage.
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { digestOf } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { openDiskStore } from '../../../store/open.ts';
import { Random } from '../../rig/random.ts';
import { addressOf, contentOf, readFrom, resultNaming } from '../content.ts';

flushCompileCache();

const MIB = 1024 * 1024;
const CLIENTS = 12;
const LINE_EVERY = 100;
const KIND = 'load';
const EXPECTED = new Set(['ASSAY_STORE_FULL', 'ASSAY_RESULT_INCOMPLETE']);
const DAMAGE = new Set(['quarantined', 'result-dropped', 'eviction-failed']);

const [directory = '', seedText = '', limitText = ''] = process.argv.slice(2);
const seed = Number(seedText);
const random = new Random(seed);
const store = await openDiskStore({
  directory,
  leaseMs: 300,
  maxSize: { bytes: Number(limitText) * MIB },
  commitDelayMs: random.pick([0, 4]),
  onEvent: (event) => {
    if (DAMAGE.has(event.type)) throw new Error(JSON.stringify(event));
  },
});
let isOpen = true;
process.stdin.resume().on('end', () => {
  isOpen = false;
});
writeSync(1, 'ready\n');

/** Mostly values inside a leaf and on a few overflow pages; some on many pages, some in files. */
function sizeOf(): number {
  const kind = random.below(100);
  if (kind < 40) return 50 + random.below(900);
  if (kind < 80) return 2000 + random.below(18_000);
  return kind < 97 ? 20_000 + random.below(45_000) : 70_000 + random.below(100_000);
}

let written = 0;
let next = 0;

async function put(): Promise<void> {
  const name = `${seed}/${next++}`;
  const contents = [sizeOf(), sizeOf()].map((size, index) => contentOf(`${name}/${index}`, size));
  const digests = await Promise.all(contents.map((bytes) => store.blobs.put(digestOf(bytes), bytes)));
  const address = addressOf(name);
  await store.results.put(address, resultNaming(...digests));
  const { namespace } = address;
  if (next % 5 === 0) await store.labels.put({ namespace, label: `label ${next % 500}` }, address.key);
  if (next % 20 === 0) await keepDocument();
  written++;
  if (written % LINE_EVERY === 0) writeSync(1, `wrote ${LINE_EVERY}\n`);
}

async function keepDocument(): Promise<void> {
  const bytes = contentOf(`document ${next}`, 100 + random.below(30_000));
  const [namespace, at] = [DEFAULT_NAMESPACE, Date.now()];
  await store.history?.put([{ kind: KIND, namespace, id: `${seed}-${next}`, at, bytes }]);
  await store.history?.removeBefore(KIND, at - 2000, 64);
}

async function readSome(): Promise<void> {
  const result = await store.results.get(addressOf(`${seed}/${Math.max(0, next - 1 - random.below(400))}`));
  for (const digest of result?.references ?? []) {
    const bytes = await readFrom(store, digest);
    if (bytes && digestOf(bytes).hash !== digest.hash) throw new Error(`wrong bytes of ${digest.hash}`);
  }
}

async function work(): Promise<void> {
  while (isOpen) {
    try {
      await put();
      await readSome();
    } catch (error) {
      if (!(error instanceof AssayError)) throw error;
      if (error.message.includes('had bad/duplicate entries')) writeSync(1, 'failed 1\n');
      else if (!EXPECTED.has(error.code)) throw error;
    }
  }
}

await Promise.all(Array.from({ length: CLIENTS }, work));
await store.close();
