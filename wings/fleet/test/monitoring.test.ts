// The alert rules and the Grafana dashboard: promtool accepts them, and they name only metrics that a server has.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseNamespace } from '../../../core/namespace.ts';
import { Metrics } from '../../../server/request/metrics.ts';
import { FleetMetrics } from '../metrics.ts';

const FOLDER = join(import.meta.dirname, '../../../examples/monitoring');
const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8');

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-monitoring-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function promtool(...args: readonly string[]): string {
  return execFileSync('promtool', args, { cwd: FOLDER, encoding: 'utf8', stdio: 'pipe' });
}

/** Of the dashboard, as Grafana would send them. */
function dashboardQueries(): string[] {
  const { panels }: { panels: { targets: { expr: string }[] }[] } = JSON.parse(
    read('grafana-dashboard.json'),
  );
  return panels.flatMap(({ targets }) =>
    targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*')),
  );
}

test('promtool accepts the alert rules, and they fire when they should', () => {
  expect(promtool('check', 'rules', 'alerts.yml')).toMatch(/SUCCESS: \d+ rules found/);
  expect(promtool('test', 'rules', 'alerts.test.yml')).toContain('SUCCESS');
});

test('promtool accepts the page of /metrics', async () => {
  const page = await filledMetrics().page();
  const file = join(folder, 'metrics');
  writeFileSync(file, page);
  expect(execFileSync('sh', ['-c', `promtool check metrics < ${file}`], { encoding: 'utf8' })).not.toMatch(
    /error/i,
  );
});

test('promtool accepts the queries of the dashboard', () => {
  const rules = dashboardQueries().map((expr, at) => ({ record: `panel:${at}`, expr }));
  expect(rules.length).toBeGreaterThan(10);
  const file = join(folder, 'panels.yml');
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
  expect(promtool('check', 'rules', file)).toContain('SUCCESS');
});

test('rules and dashboard name only metrics and labels that the server has', async () => {
  const page = await filledMetrics().page();
  const queries = [
    ...dashboardQueries(),
    ...[...read('alerts.yml').matchAll(/expr: >?-?([\s\S]*?)\n {8}\w/g)].map(([, expr = '']) => expr),
  ];
  const used = new Set(queries.flatMap((query) => query.match(/\b(?:assay|process)_\w+/g) ?? []));
  expect(used.size).toBeGreaterThan(8);
  for (const name of used) expect(page, name).toContain(`${name.replace(/_bucket$/, '')}`);
  for (const [, label] of queries
    .join('\n')
    .matchAll(/\b(route|tool|namespace|outcome|event|method|what|part|statement|request)\b/g))
    expect(page, label).toContain(`${label}="`);
});

function filledMetrics(): Metrics {
  const metrics = new Metrics();
  metrics.watch({ used: () => 1, limit: 2 });
  metrics.answered('ac', 'GET', 200, 3);
  metrics.called('ActionCache.GetActionResult', 'OK', 1);
  metrics.lookedUpBy('bazel', parseNamespace('team'), true);
  metrics.denied('ac');
  metrics.sent(1);
  metrics.storeEvent({ type: 'evicted', results: 1, blobs: 1, bytes: 1 });
  const fleet = metrics.add((registry) => new FleetMetrics(registry));
  fleet.storeEvent({
    type: 'cleaned',
    results: 1,
    blobs: 1,
    bytes: 1,
    condemned: 1,
    deleted: 1,
    orphans: 1,
    refused: 1,
  });
  fleet.answered('index', 'presence', 1, true);
  fleet.answered('blobs', 'GET', 1, false);
  fleet.watch({
    readCounts: { tierHits: 1, tierMisses: 1, joined: 1 },
    space: { figures: { bucket: 1, index: 1, condemned: 1, uploads: 1 }, limits: { bucket: 2, index: 2 } },
    election: { isElected: true },
    isAway: () => ({ index: true, blobs: false }),
    ownership: { isOwner: false, waitingOrphans: 2000 },
  });
  return metrics;
}
