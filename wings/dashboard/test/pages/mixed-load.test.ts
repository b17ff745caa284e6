// The pages of a server that real tools have used: `assay run` over HTTP and gRPC, ccache, Turborepo, and a client of
// the Remote Execution API in Python. Every figure on screen is what the tools and a proxy between them counted.
//
// The server's clock says noon, so no midnight comes while the test runs; and a week before for its first load.
import { execFileSync } from 'node:child_process';
import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bytes } from '../../../../core/text/amounts.ts';
import { openDiskStore } from '../../../../store/open.ts';
import { debianTool, MINUTES, npmTool, run, workshop } from '../../../../test/clients/rig.ts';
import type { Workshop } from '../../../../test/rig/assay.ts';
import { type GraphRan, runSteps } from '../../../../test/rig/graph.ts';
import { ServerProcess } from '../../../../test/rig/server.ts';
import { ask } from '../../../../test/server/rig.ts';
import type { Tail } from '../../api/schemas/now.ts';
import type { TailEvent } from '../../api/schemas/parts.ts';
import { duration } from '../../pages/format.ts';
import { browserForAll, type Visit } from './chromium.ts';
import { type CountingProxy, countingProxy } from './counting-proxy.ts';

const DAY_S = 24 * 60 * 60;
const PROTO = join(import.meta.dirname, '../../../../core/proto');
const PYTHON_CLIENT = join(import.meta.dirname, '../../../../test/clients/reapi_client.py');
const browser = browserForAll();

/** Seconds from now until noon of this day in UTC. */
const untilNoon = () => DAY_S / 2 - (Math.floor(Date.now() / 1000) % DAY_S);

async function serverAt({ store }: Workshop, clockError: number): Promise<ServerProcess> {
  const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
  if (library === undefined) throw new Error('there is no libfaketime: run scripts/setup-tests.sh');
  const clock = { FAKETIME: `${clockError >= 0 ? '+' : ''}${clockError}`, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  const server = await ServerProcess.start(store, { env: { LD_PRELOAD: library, ...clock } });
  onTestFinished(() => server.stop());
  return server;
}

interface Counted {
  readonly hits: number;
  readonly misses: number;
}

const sumOf = (all: readonly Counted[]): Counted => ({
  hits: all.reduce((sum, { hits }) => sum + hits, 0),
  misses: all.reduce((sum, { misses }) => sum + misses, 0),
});

/** One step reads a file that it does not declare: there, a prediction of the server can be wrong. */
function withSteps(): Workshop {
  const shop = workshop();
  const steps = {
    shout: { command: 'tr a-z A-Z < words.txt > shouted', inputs: ['words.txt'], outputs: ['shouted'] },
    join: { command: 'cat note.txt words.txt > joined', inputs: ['words.txt'], outputs: ['joined'] },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  shop.write('words.txt', 'some words\n');
  shop.write('note.txt', 'a note\n');
  return shop;
}

/** On a machine that has never built it. */
async function build(shop: Workshop, remote: string): Promise<GraphRan> {
  const local = join(shop.folder, 'local');
  for (const path of [local, join(shop.workspace, 'shouted'), join(shop.workspace, 'joined')])
    rmSync(path, { recursive: true, force: true });
  const ran = await runSteps(shop, ['shout', 'join'], { env: { ASSAY_STORE: local, ASSAY_REMOTE: remote } });
  expect(ran.code, ran.stderr).toBe(0);
  return ran;
}

const countedOf = ({ summary: { hitsLocal, hitsRemote, misses } }: GraphRan): Counted => {
  expect(hitsLocal).toBe(0);
  return { hits: hitsRemote, misses };
};

const lostIn = (runs: readonly GraphRan[]) =>
  runs.flatMap(({ ends }) =>
    Object.values(ends).flatMap(({ outcome, commandMs }) => (outcome === 'miss' ? commandMs : [])),
  );

/** ccache counts its own requests. */
async function compile({ folder, workspace }: Workshop, remote: string): Promise<Counted> {
  const cache = join(folder, 'ccache');
  rmSync(cache, { recursive: true, force: true });
  const env = {
    CCACHE_DIR: cache,
    CCACHE_CONFIGPATH: '/dev/null',
    CCACHE_REMOTE_STORAGE: `${remote}/ccache/web`,
  };
  const options = { cwd: workspace, home: folder, env };
  await run([debianTool('ccache'), debianTool('cc', 'gcc'), '-c', 'main.c', '-o', 'main.o'], options);
  const stats = await run([debianTool('ccache'), '--print-stats'], options);
  const count = (name: string) => Number(new RegExp(`^${name}\t(\\d+)$`, 'm').exec(stats)?.[1]);
  expect(count('remote_storage_error')).toBe(0);
  return { hits: count('remote_storage_read_hit'), misses: count('remote_storage_read_miss') };
}

function withPackage(): Workshop {
  const shop = workshop();
  const workspaces = ['pkg'];
  const packages = {
    '': { name: 'root', workspaces },
    'node_modules/pkg': { resolved: 'pkg', link: true },
    pkg: { version: '1.0.0' },
  };
  const scripts = { build: 'mkdir -p out && tr a-z A-Z < words.txt > out/shouted.txt' };
  const files = {
    'package.json': { name: 'root', private: true, packageManager: 'npm@10.0.0', workspaces },
    'package-lock.json': { name: 'root', lockfileVersion: 3, packages },
    'turbo.json': { tasks: { build: { outputs: ['out/**'] } } },
    'pkg/package.json': { name: 'pkg', version: '1.0.0', scripts },
  };
  for (const [path, value] of Object.entries(files)) shop.write(path, JSON.stringify(value));
  shop.write('.gitignore', 'out\n.turbo\nnode_modules\n');
  shop.write('pkg/words.txt', 'some words\n');
  return shop;
}

async function turbo({ folder, workspace }: Workshop, url: string): Promise<Counted> {
  for (const path of ['.turbo', 'node_modules', 'pkg/.turbo', 'pkg/out'])
    rmSync(join(workspace, path), { recursive: true, force: true });
  const env = {
    CI: '1',
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
    TURBO_API: url,
    TURBO_TOKEN: 'any',
    TURBO_TEAM: 'web',
  };
  const said = await run([npmTool('turbo'), 'run', 'build', '--cache=remote:rw'], {
    cwd: workspace,
    home: folder,
    env,
  });
  const [, cached = '', total = ''] = /Cached: +(\d+) cached, (\d+) total/.exec(said) ?? [];
  return { hits: Number(cached), misses: Number(total) - Number(cached) };
}

async function python({ folder }: Workshop, url: string): Promise<Counted> {
  const descriptors = join(folder, 'reapi.pb');
  const files = ['reapi.proto', 'reapi-services.proto', 'bytestream.proto'];
  execFileSync('protoc', ['-I', PROTO, '--include_imports', `--descriptor_set_out=${descriptors}`, ...files]);
  const command = [
    '/usr/bin/python3',
    PYTHON_CLIENT,
    descriptors,
    new URL(url).host,
    'web',
    'a seed',
    'build',
  ];
  const said = JSON.parse(await run(command, { cwd: folder, home: folder })).said;
  return said === 'hit' ? { hits: 1, misses: 0 } : { hits: 0, misses: 1 };
}

async function textOf(page: Visit['page'], url: string): Promise<string> {
  await page.goto(url);
  return page.locator('main').innerText();
}

/** Waits until the page says it: a prediction is counted after some seconds, and other tools' runs are flushed. */
async function untilShown(page: Visit['page'], url: string, wanted: RegExp): Promise<string> {
  let text = await textOf(page, url);
  await expect
    .poll(async () => (text = await textOf(page, url)), { timeout: 40_000, interval: 500 })
    .toMatch(wanted);
  return text;
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** What Turborepo says that its hits saved. */
const savedByTurbo = ({ told }: CountingProxy) =>
  told
    .filter(({ path }) => path.includes('/artifacts/events'))
    .flatMap(({ body }): { source: string; event: string; duration: number }[] => JSON.parse(body))
    .filter(({ source, event }) => source === 'REMOTE' && event === 'HIT')
    .reduce((sum, event) => sum + event.duration, 0);

/** Durations are rounded for each run, and on screen. */
const aboutAs = (ms: number) => [-3, -2, -1, 0, 1, 2, 3].map((by) => duration(Math.round(ms) + by)).join('|');

test('every figure is what real tools and a proxy between them counted', {
  timeout: 5 * MINUTES,
}, async () => {
  const shop = withSteps();
  const before = await serverAt(shop, untilNoon() - 7 * DAY_S - 3600);
  const earlier = await countingProxy(before.url);
  const first = await build(shop, `${earlier.url}/web`);
  expect(countedOf(first)).toEqual({ hits: 0, misses: 2 });
  await before.stop();

  const server = await serverAt(shop, untilNoon());
  const proxy = await countingProxy(server.url);
  const grpc = `${server.url.replace('http', 'grpc')}/web`;
  const runs = [await build(shop, `${proxy.url}/web`)];
  shop.write('note.txt', 'another note\n');
  runs.push(await build(shop, `${proxy.url}/web`));
  shop.write('main.c', 'int main(void) { return 0; }\n');
  const ccache = [await compile(shop, proxy.url), await compile(shop, proxy.url)];
  const packages = withPackage();
  const turbos = [await turbo(packages, proxy.url), await turbo(packages, proxy.url)];
  expect(runs.map(({ outcomes }) => outcomes)).toEqual([
    { shout: 'hit-remote', join: 'hit-remote' },
    { shout: 'hit-remote', join: 'miss' },
  ]);
  expect(turbos).toEqual([
    { hits: 0, misses: 1 },
    { hits: 1, misses: 0 },
  ]);

  const { page, complaints } = await browser.visit();
  const byHttp = sumOf([...runs.map(countedOf), ...ccache, ...turbos]);
  const of = ({ hits, misses }: Counted) => `${counted(hits, 'hit')} of ${counted(hits + misses, 'lookup')}`;
  const now = await untilShown(page, server.url, new RegExp(`\\b${of(byHttp)}`));
  const savedMs = runs.reduce((sum, { summary }) => sum + summary.savedMs, savedByTurbo(proxy));
  expect(now).toMatch(
    new RegExp(`Hit rate today\\s+${Math.round((100 * byHttp.hits) / (byHttp.hits + byHttp.misses))} %`),
  );
  expect(now).toMatch(
    new RegExp(`Time saved today\\s+(${aboutAs(savedMs)})\\s+in 2 runs; 0 ms by this hour`),
  );
  expect(now).toMatch(
    new RegExp(`Requests today\\s+${proxy.requests}\\s+0 errors; ${earlier.requests} by this hour last`),
  );
  expect(now).toMatch(new RegExp(`Sent today\\s+${bytes(proxy.sent)}\\s+${bytes(proxy.received)} received`));

  shop.write('words.txt', 'other words\n');
  runs.push(await build(shop, grpc), await build(shop, grpc));
  const pythons = [await python(shop, server.url), await python(shop, server.url)];
  expect(runs.slice(2).map(countedOf)).toEqual([
    { hits: 0, misses: 2 },
    { hits: 2, misses: 0 },
  ]);
  const all = sumOf([byHttp, ...runs.slice(2).map(countedOf), ...pythons]);
  await untilShown(page, server.url, new RegExp(`\\b${of(all)}`));
  await page.locator('summary', { hasText: 'The numbers by the hour' }).click();
  const hours = await page.locator('details tbody tr').allInnerTexts();
  expect(hours.map((row) => row.split(/\s+/).slice(0, 3))).toEqual([
    ['12:00', `${all.hits}`, `${all.misses}`],
  ]);
  const live: Tail = JSON.parse((await ask(`${server.url}/api/v1/tail`)).body.toString());
  const inTail = (what: TailEvent['what']) => live.events.filter((event) => event.what === what).length;
  expect([inTail('hit'), inTail('miss')]).toEqual([all.hits, all.misses]);
  const shownEvents = await page.locator('[data-tail] tbody td:first-child').allInnerTexts();
  expect(shownEvents).toEqual(live.events.slice(0, 10).map(({ what }) => what));

  const asRow = (tool: string, { hits, misses }: Counted) =>
    `${tool}: ${hits} hit, ${misses} ${tool === 'assay' ? 'ran' : 'missed'}`;
  const wanted = [
    ...[first, ...runs].map((one) => asRow('assay', countedOf(one))),
    asRow('ccache', sumOf(ccache)),
    ...turbos.map((one) => asRow('turbo', one)),
    asRow('grpc', sumOf(pythons)),
  ];
  const rows = async () => {
    await page.goto(`${server.url}/runs`);
    const texts = await page.locator('tbody tr').allInnerTexts();
    return texts
      .map(
        (text) => `${/assay|ccache|turbo|grpc/.exec(text)}: ${/\d+ hit, \d+ (ran|missed)/.exec(text)?.[0]}`,
      )
      .sort();
  };
  await expect.poll(rows, { timeout: 40_000, interval: 500 }).toEqual(wanted.sort());
  await page
    .locator('tbody tr', { hasText: '1 hit, 1 ran' })
    .filter({ hasText: 'assay' })
    .getByRole('link')
    .click();
  expect(await page.locator('main').innerText()).toMatch(/Hits\s+1 of 2\s+1 ran/);

  const lost = (of7: boolean) => lostIn(of7 ? [first, ...runs] : runs);
  for (const [days, counts] of [
    ['7', '5 misses of 5 runs'],
    ['1', '3 misses of 4 runs'],
  ] as const) {
    const text = await textOf(page, `${server.url}/misses?days=${days}`);
    const lostMs = lost(days === '7').reduce((sum, ms) => sum + ms, 0);
    expect(text).toMatch(new RegExp(`Lost\\s+(${aboutAs(lostMs)})\\s+in ${counts}`));
  }

  const last = Object.values(runs.at(-1)?.ends ?? {});
  const hermeticity = await textOf(page, `${server.url}/hermeticity`);
  expect(hermeticity).toContain('2 steps, by their newest run');
  for (const status of ['declared', 'observed', 'unproven', 'unwatched'] as const)
    expect(hermeticity).toContain(`${last.filter((step) => step.status === status).length} ${status}:`);
  expect(hermeticity).toContain('note.txt');

  await page.goto(`${server.url}/setup`);
  const light = async (tool: string) => page.locator(`[data-tool="${tool}"]`).innerText();
  const asked = (parts: readonly Counted[]) => {
    const { hits, misses } = sumOf(parts);
    return `Connected: ${counted(hits + misses, 'lookup')} today`;
  };
  expect(await light('assay run')).toContain(asked(runs.map(countedOf)));
  expect(await light('ccache')).toContain(asked(ccache));
  expect(await light('Turborepo')).toContain(asked(turbos));
  expect(await light('Gradle')).toBe('Waiting for the first request');

  const storage = await untilShown(page, `${server.url}/storage`, /What fills it, by tool/);
  const metrics = (await ask(`${server.url}/metrics`)).body.toString();
  const used = Number(/^assay_store_bytes (\d+)$/m.exec(metrics)?.[1]);
  expect(storage).toMatch(new RegExp(`In the store\\s+${bytes(used)}`));
  expect(complaints).toEqual([]);
  await server.stop();
  for (const [name, { results, size }] of await storedIn(shop))
    expect(storage).toMatch(new RegExp(`${name}\\s+${results}\\s+${bytes(size)}`));
});

/** Read from the store itself. */
async function storedIn({ store }: Workshop): Promise<Map<string, { results: number; size: number }>> {
  const found = new Map<string, { results: number; size: number }>();
  const disk = await openDiskStore({ directory: store });
  for await (const { address, result } of disk.review?.results() ?? []) {
    const [, protocol = 'actions.*'] = /^~([a-z-]+)/.exec(address.namespace) ?? [];
    const name = protocol.replace('path-sets', 'path sets .*');
    const sum = found.get(name) ?? { results: 0, size: 0 };
    const size = result.references.reduce((total, one) => total + one.size, result.bytes.length);
    found.set(name, { results: sum.results + 1, size: sum.size + size });
  }
  await disk.close();
  return found;
}
