// The fleet engine passes the contract of a store, on a real PostgreSQL and a real bucket.
import { afterAll, beforeAll } from 'vitest';
import { addLayers } from '../../../../store/open.ts';
import { type Backend, describeStore } from '../../../../test/store/contract.ts';
import { describeHistory } from '../../../../test/store/contract-history.ts';
import { describeLabels } from '../../../../test/store/contract-labels.ts';
import { describeReview } from '../../../../test/store/contract-review.ts';
import { describeTenants } from '../../../../test/store/contract-tenants.ts';
import { describeUploads } from '../../../../test/store/contract-uploads.ts';
import { openFleetEngine } from '../../engine/engine.ts';
import { openS3Objects } from '../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../engine/s3/settings.ts';
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
