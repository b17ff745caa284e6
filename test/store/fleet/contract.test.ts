// The fleet engine passes the contract of a store, on a real PostgreSQL and a real bucket.
import { afterAll, beforeAll } from 'vitest';
import { openFleetEngine } from '../../../store/fleet/engine.ts';
import { openS3Objects } from '../../../store/fleet/s3/s3-objects.ts';
import { readS3Settings } from '../../../store/fleet/s3/settings.ts';
import { addLayers } from '../../../store/open.ts';
import { type Backend, describeStore } from '../contract.ts';
import { describeHistory } from '../contract-history.ts';
import { describeLabels } from '../contract-labels.ts';
import { describeReview } from '../contract-review.ts';
import { describeTenants } from '../contract-tenants.ts';
import { describeUploads } from '../contract-uploads.ts';
import { createDatabase, type TestDatabase } from './index-database.ts';

let database: TestDatabase;
/** A fleet of its own for each store: empty tables do not fit a prefix that is in use. */
let prefixes = 0;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

const backend: Backend = {
  name: 'the fleet store',
  async open(onEvent) {
    const { environment } = database;
    await database.clear();
    const engine = await openFleetEngine({
      index: database.url,
      objects: await openS3Objects(
        readS3Settings(`${environment.ASSAY_BLOBS}/${prefixes++}`, { ...environment }),
      ),
      onEvent,
      // The tests remove blobs behind the back of the node that has just stored them.
      memoMs: 0,
    });
    const store = addLayers(engine, onEvent);
    return {
      store,
      records: engine.records,
      async lose(hash) {
        await database.query(`DELETE FROM assay.presence WHERE hash = decode($1, 'hex')`, [hash]);
        await database.query(`DELETE FROM assay.content WHERE hash = decode($1, 'hex')`, [hash]);
      },
      dispose: () => store.close(),
    };
  },
};

describeStore(backend);
describeUploads(backend);
describeLabels(backend);
describeHistory(backend);
describeTenants(backend);
describeReview(backend);
