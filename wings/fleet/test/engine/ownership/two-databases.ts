// Databases that use one bucket in memory: a fleet, others beside it, and copies of it.
import { onTestFinished } from 'vitest';
import { digestOf } from '../../../../../core/digest.ts';
import type { StoreEvent } from '../../../../../store/events.ts';
import { addLayers } from '../../../../../store/open.ts';
import type { Store } from '../../../../../store/store.ts';
import { contentOf, streamOf } from '../../../../../test/store/content.ts';
import { type FleetEngine, openFleetEngine } from '../../../engine/engine.ts';
import type { Objects } from '../../../engine/objects.ts';
import { Adoption } from '../../../engine/ownership/adoption.ts';
import { FLEET } from '../../../limits.ts';
import { Dump } from '../../rig/dump.ts';
import { createDatabase, type TestDatabase } from '../index-database.ts';
import type { MemoryObjects } from '../memory-objects.ts';

export const LARGE = FLEET.inlineBytes + 17;
export const CONDEMNED = 3;

export interface Side {
  readonly database: TestDatabase;
  readonly store: Store;
  readonly engine: FleetEngine;
  readonly events: StoreEvent[];
  /** May be called again. */
  close(): Promise<void>;
}

/** A database of the test's own, with tables. */
export async function newDatabase(): Promise<TestDatabase> {
  const database = await createDatabase();
  onTestFinished(() => database.close());
  return database;
}

/** Another database with the same rows. */
export async function copyOf(database: TestDatabase): Promise<TestDatabase> {
  const copy = await newDatabase();
  const dump = await Dump.of(database.url);
  onTestFinished(() => dump.remove());
  await dump.restoreInto(copy.url);
  return copy;
}

/** A node that uses this database and this bucket. */
export async function sideOf(
  database: TestDatabase,
  objects: Objects,
  options: Partial<Parameters<typeof openFleetEngine>[0]> = {},
): Promise<Side> {
  const events: StoreEvent[] = [];
  const onEvent = (event: StoreEvent) => void events.push(event);
  const engine = await openFleetEngine({ index: database.url, objects, onEvent, ...options });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= engine.close();
    return closed;
  };
  onTestFinished(close);
  return { database, engine, events, store: addLayers(engine, onEvent), close };
}

export async function adopt(database: TestDatabase, objects: Objects): Promise<void> {
  const { adoption, database: opened } = await Adoption.open(database.url, objects);
  try {
    await adoption.adopt(await adoption.find());
  } finally {
    await opened.close();
  }
}

export const blobs = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => contentOf(`${name} ${at}`, LARGE));

/** Returns the names of their objects. */
export async function putAll({ store, database }: Side, contents: readonly Buffer[]): Promise<string[]> {
  const before = new Set(await objectNames(database));
  for (const bytes of contents) await store.blobs.put(digestOf(bytes), streamOf(bytes));
  return (await objectNames(database)).filter((name) => !before.has(name));
}

async function objectNames(database: TestDatabase): Promise<string[]> {
  return (await database.query('SELECT name::text FROM assay.object')).map(({ name }) => String(name));
}

/** Condemns everything, as an eviction would. */
export async function evictAll({ database }: Side): Promise<void> {
  for (const table of ['presence', 'content']) await database.query(`DELETE FROM assay.${table}`);
  await database.query(`UPDATE assay.object SET state = ${CONDEMNED}, tick = (SELECT tick FROM assay.clock)`);
}

/** So many rounds, each more than an hour after the one before. All objects are older than a day. */
export async function rounds(side: Side, objects: MemoryObjects, count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    for (const name of objects.kept.keys()) objects.agesMs.set(name, 2 * FLEET.orphanMs);
    await side.database.advance(side.engine.clock.ticksFor(FLEET.condemnedMs) + 1);
    await side.engine.janitor.run();
  }
}

export const alarmsOf = ({ events }: Side) =>
  events.flatMap((event) => (event.type === 'not-owner' ? [event.detail] : []));
