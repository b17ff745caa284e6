// Reported runs have a part of the store, and those of a pull request a part of that.
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Namespace, parseNamespace } from '../../../core/namespace.ts';
import { removeOld } from '../../../server/background/retention.ts';
import { HISTORY_DOCUMENTS } from '../../../server/limits.ts';
import { memoryHistory } from '../../../test/rig/stores/memory/history.ts';
import { Reports } from '../runs/keep-report.ts';
import { reportOf, step } from './reports.ts';

const MAIN = parseNamespace('acme/main');
const PR = parseNamespace('acme/pr/7');
const NOW = Date.parse('2026-11-17T12:00:00.000Z');
const DAY = 24 * 60 * 60 * 1000;
/** What the history may take. */
const MOST = 1_000_000;
const LIMIT = MOST / HISTORY_DOCUMENTS.share;
const ACCOUNT = {
  name: 'pull requests',
  namespaces: ['acme/pr'],
  bytes: 0,
  quota: LIMIT / 4,
  floor: 0,
  hasQuota: true,
  hasFloor: false,
};
const full = { code: 'ASSAY_STORE_FULL' };
const never = new AbortController().signal;

/** Names that nothing compresses. */
const flood = () =>
  reportOf(
    Array.from({ length: 20 }, () => step(randomBytes(400).toString('base64'))),
    { startedAt: new Date(NOW - 1000).toISOString() },
  );

function server() {
  const history = memoryHistory();
  const reports = new Reports();
  const report = (namespace: Namespace, now = NOW) =>
    reports.keep(flood(), {
      history,
      limit: LIMIT,
      accounts: [ACCOUNT],
      sender: { namespace, identity: 'ci' },
      readable: undefined,
      blobs: undefined,
      now,
    });
  /** Until it is refused, or so often. */
  const reportAll = async (namespace: Namespace, most: number, now?: number) => {
    for (let count = 0; count < most; count++) await report(namespace, now);
  };
  return { history, report, reportAll };
}

test('a pull request that reports very much has its part of a day, and main goes on', async () => {
  const { history, report, reportAll } = server();
  await expect(reportAll(PR, 10_000)).rejects.toMatchObject(full);
  expect(await history.usedBytes()).toBeLessThan(MOST / 2);
  await report(MAIN);
  await expect(report(PR, NOW + DAY - 1)).rejects.toMatchObject(full);
  await report(PR, NOW + DAY);
});

test('the history never takes more than twice its part, and has room again without its oldest hours', async () => {
  const { history, report, reportAll } = server();
  await expect(reportAll(MAIN, 10_000)).rejects.toMatchObject(full);
  // The sums of a week are a document that grows.
  expect(await history.usedBytes()).toBeLessThan(MOST * (HISTORY_DOCUMENTS.room + 0.5));
  const later = NOW + 2 * 60 * 60 * 1000;
  await removeOld({ history, limit: () => LIMIT, now: () => later }, never);
  await report(MAIN, later);
});
