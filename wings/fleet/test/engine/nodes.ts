// Nodes of a fleet in one process, on a database of the test file's own and a bucket in memory.
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { StoreEvent } from '../../../../store/events.ts';
import { addLayers } from '../../../../store/open.ts';
import type { Store } from '../../../../store/store.ts';
import { type FleetEngine, openFleetEngine } from '../../engine/engine.ts';
import { createDatabase, type TestDatabase } from './index-database.ts';
import { MemoryObjects } from './memory-objects.ts';

export interface TestNode extends Store {
  readonly engine: FleetEngine;
}

export type NodeOptions = Partial<Parameters<typeof openFleetEngine>[0]>;

export class TestFleet {
  objects = new MemoryObjects();
  events: StoreEvent[] = [];
  readonly #nodes: TestNode[] = [];
  #database: TestDatabase | undefined;

  /** Adds the hooks of the test file. Each test gets empty tables. */
  constructor() {
    beforeAll(async () => {
      this.#database = await createDatabase();
    });
    afterAll(() => this.#database?.close());
    beforeEach(async () => {
      await this.database.clear();
      this.objects = new MemoryObjects();
      this.events = [];
    });
    afterEach(async () => {
      for (const node of this.#nodes.splice(0)) await node.close();
    });
  }

  get database(): TestDatabase {
    if (!this.#database) throw new Error('the database is created before the first test');
    return this.#database;
  }

  async node(options: NodeOptions = {}): Promise<TestNode> {
    const onEvent = (event: StoreEvent) => void this.events.push(event);
    const { objects, database } = this;
    const engine = await openFleetEngine({ index: database.url, objects, onEvent, ...options });
    const node = { ...addLayers(engine, onEvent), engine };
    this.#nodes.push(node);
    return node;
  }
}
