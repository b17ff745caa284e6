// A node of a fleet as a process: it answers the operations that arrive as messages, many at once.
import { type Digest, digestOf } from '../../../../core/digest.ts';
import { AssayError, messageOf } from '../../../../core/errors.ts';
import { DEFAULT_NAMESPACE } from '../../../../core/namespace.ts';
import { sha256 } from '../../../../core/sha256.ts';
import { addLayers, openDiskStore } from '../../../../store/open.ts';
import type { Store } from '../../../../store/store.ts';
import { addressOf, readFrom, resultNaming, streamOf } from '../../../../test/store/content.ts';
import { type FleetEngine, openFleetEngine } from '../../engine/engine.ts';
import { openS3Objects } from '../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../engine/s3/settings.ts';
import { FLEET } from '../../limits.ts';
import {
  type Answer,
  type BlobSpec,
  bytesOf,
  ELECTION_IDLE_MS,
  LIMITS,
  type Operation,
  type Question,
} from './operations.ts';

/** Waits end sooner than in a real node, because the faults of a schedule last about a second. */
const IDLE_MS = 1500;
/** So little that it is full with the first large blobs, which are leased. */
const TIER_BYTES = 3 * 1024 * 1024;
/** A second question about a missing object comes while the bucket may still deny it. */
const LOST_AFTER_MS = 200;
const PARTS = 3;

const { ASSAY_INDEX = '', ASSAY_BLOBS = '', ASSAY_TEST_TIER = '' } = process.env;
const objects = await openS3Objects(readS3Settings(ASSAY_BLOBS, process.env), {
  idleMs: IDLE_MS,
  answerMs: IDLE_MS,
  storedMs: IDLE_MS,
});
// As if all objects were two days old: whatever looks like an orphan is deleted.
const list = objects.list.bind(objects);
objects.list = async (after) => {
  const page = await list(after);
  const old = page.objects.map((object) => ({ ...object, ageMs: object.ageMs + 2 * FLEET.orphanMs }));
  return { ...page, objects: old };
};
const tier = await openDiskStore({
  directory: ASSAY_TEST_TIER,
  maxSize: { bytes: TIER_BYTES },
  leaseMs: FLEET.tierLeaseMs,
});
const engine: FleetEngine = await openFleetEngine({
  index: ASSAY_INDEX,
  objects,
  tier: tier.blobs,
  lostAfterMs: LOST_AFTER_MS,
  onEvent: () => {},
  maxBytes: LIMITS.bucket,
  maxIndexBytes: LIMITS.index,
  electionIdleMs: ELECTION_IDLE_MS,
  answerMs: IDLE_MS,
});
const store: Store = addLayers(engine, () => {});

process.on('message', ({ id, operation }: Question) => {
  const answered = answerTo(operation).catch(
    (error: unknown): Answer => ({
      kind: 'error',
      code: error instanceof AssayError ? error.code : 'none',
      message: messageOf(error),
    }),
  );
  answered.then((answer) => process.send?.({ id, answer })).catch(() => process.exit(1));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function answerTo(operation: Operation): Promise<Answer> {
  switch (operation.kind) {
    case 'put': {
      const bytes = bytesOf(operation.blob);
      await store.blobs.put(digestOf(bytes), streamOf(bytes));
      return { kind: 'done' };
    }
    case 'upload':
      return upload(operation.blob);
    case 'get': {
      const bytes = bytesOf(operation.blob);
      const found = await readFrom(store, digestOf(bytes));
      return found ? { kind: 'hit', isRight: found.equals(bytes) } : { kind: 'miss' };
    }
    case 'missing': {
      const digests = operation.blobs.map(digestOfSpec);
      const missing = new Set((await store.blobs.missing(digests)).map(({ hash }) => hash));
      return { kind: 'missing', absent: digests.flatMap(({ hash }, at) => (missing.has(hash) ? [at] : [])) };
    }
    case 'put-result': {
      const bytes = resultNaming(...operation.blobs.map(digestOfSpec));
      return { kind: 'outcome', outcome: await store.results.put(addressOf(operation.key), bytes) };
    }
    case 'get-result': {
      const found = await store.results.get(addressOf(operation.key));
      return found ? { kind: 'result', body: sha256(found.bytes) } : { kind: 'miss' };
    }
    case 'put-label': {
      const { namespace, key } = addressOf(operation.key);
      return {
        kind: 'outcome',
        outcome: await store.labels.put({ namespace, label: operation.label }, key),
      };
    }
    case 'get-label': {
      const found = await store.labels.newest(DEFAULT_NAMESPACE, [], operation.label);
      return found ? { kind: 'label', key: found.key } : { kind: 'miss' };
    }
    case 'maintain':
      await engine.janitor.run();
      return { kind: 'outcome', outcome: engine.election.isElected ? 'elected' : 'other' };
  }
}

async function upload(blob: BlobSpec): Promise<Answer> {
  const bytes = bytesOf(blob);
  const id = `upload-${blob.seed}`;
  const expected = digestOf(bytes);
  let offset = (await store.uploads.status(id))?.committed ?? 0;
  for (;;) {
    const end = Math.min(bytes.length, offset + Math.ceil(bytes.length / PARTS));
    const isLast = end === bytes.length;
    const content = streamOf(bytes.subarray(offset, end));
    const { committed, isFinished } = await store.uploads.append(id, { expected, offset, content, isLast });
    if (isFinished) return { kind: 'done' };
    offset = committed;
  }
}

function digestOfSpec(blob: BlobSpec): Digest {
  return digestOf(bytesOf(blob));
}
