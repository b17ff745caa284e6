// Opens the store of a fleet: PostgreSQL and a bucket that all servers share, and a tier on the disk of this one.
// The layers are those of every store (open.ts). The fleet engine checks every byte itself.
import type { AccountSettings } from '../../store/accounts.ts';
import type { OnStoreEvent } from '../../store/events.ts';
import { STORE } from '../../store/limits.ts';
import { addLayers, type DiskStore, openDiskStore } from '../../store/open.ts';
import type { SizeLimit } from '../../store/size-limit.ts';
import type { Store } from '../../store/store.ts';
import type { AwsEnvironment } from './engine/aws/chain.ts';
import { CredentialsRefused } from './engine/aws/credentials.ts';
import { type FleetEngine, openFleetEngine } from './engine/engine.ts';
import { BucketRefusal } from './engine/s3/refusals.ts';
import { openS3Objects, type S3Bucket } from './engine/s3/s3-objects.ts';
import { readS3Settings } from './engine/s3/settings.ts';
import { FLEET } from './limits.ts';

interface FleetStoreOptions {
  /** `postgres://…` */
  readonly index: string;
  /** `s3://…` */
  readonly blobs: string;
  /** The AWS_… variables. */
  readonly environment: AwsEnvironment;
  readonly tier?: { readonly folder: string; readonly maxSize: SizeLimit } | undefined;
  /** The bytes that the fleet may hold in its bucket, and in PostgreSQL. */
  readonly maxBytes?: number;
  readonly maxIndexBytes?: number;
  /** Namespaces with a quota or a floor, the same at all servers. */
  readonly accounts?: readonly AccountSettings[];
  readonly onEvent: OnStoreEvent;
  /** Told of every statement, and of every request to the bucket. */
  readonly onAnswer?: OnPartAnswer;
}

export type OnPartAnswer = (
  part: 'index' | 'blobs',
  kind: string,
  milliseconds: number,
  isFailure: boolean,
) => void;

export interface FleetStore extends Store {
  readonly engine: FleetEngine;
  /** The copies on this disk. All of them may go. */
  readonly tier: DiskStore | undefined;
}

/**
 * Opens also while PostgreSQL or the bucket is away. Throws if the set-up is wrong: credentials, bucket, region, or the
 * version of the tables.
 */
export async function openFleetStore(options: FleetStoreOptions): Promise<FleetStore> {
  const { index, blobs, environment, maxBytes, maxIndexBytes, accounts, onEvent, onAnswer } = options;
  const objects = await openS3Objects(readS3Settings(blobs, environment), {
    onAnswer: onAnswer && ((method, took, isFailure) => onAnswer('blobs', method, took, isFailure)),
    onRenewal: (source, detail) =>
      onEvent(
        detail === undefined
          ? { type: 'credentials-renewed', source }
          : { type: 'credentials-not-renewed', source, detail },
      ),
  });
  let tier: DiskStore | undefined;
  try {
    await check(objects, onEvent);
    tier = options.tier && (await openTier(options.tier.folder, options.tier.maxSize));
    const engine = await openFleetEngine({
      index,
      objects,
      tier: tier?.blobs,
      ...(maxBytes !== undefined && { maxBytes }),
      ...(maxIndexBytes !== undefined && { maxIndexBytes }),
      accounts,
      onEvent,
      onIndexAnswer: onAnswer && ((kind, took, isFailure) => onAnswer('index', kind, took, isFailure)),
    });
    const opened = tier;
    return {
      ...addLayers(engine, onEvent),
      engine,
      tier: opened,
      parts: engine.parts,
      async close() {
        await engine.close();
        await opened?.close();
      },
    };
  } catch (error) {
    await objects.close();
    await tier?.close();
    throw error;
  }
}

/** A bucket that is away, or slow to answer, is no mistake of the set-up. */
async function check(objects: S3Bucket, onEvent: OnStoreEvent): Promise<void> {
  try {
    const behindMs = await objects.check(AbortSignal.timeout(FLEET.bucketCheckMs));
    if (behindMs !== 0) onEvent({ type: 'clock-differs', behindMs });
  } catch (error) {
    if (error instanceof BucketRefusal || error instanceof CredentialsRefused) throw error;
  }
}

/** Its events say nothing about the fleet: what a tier evicts or quarantines is in the bucket. */
function openTier(directory: string, maxSize: SizeLimit): Promise<DiskStore> {
  return openDiskStore({
    directory,
    maxSize,
    leaseMs: FLEET.tierLeaseMs,
    commitDelayMs: STORE.serverCommitDelayMs,
  });
}
