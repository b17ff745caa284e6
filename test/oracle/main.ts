// `npm run test:oracle`: runs cases of the oracle until a time or a number of compares is reached.
// It prints every difference with its seed, and ends with 1 if there was one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../rig/server.ts';
import { type Report, runCase } from './case.ts';
import { EXECUTABLE, SERVER } from './clone.ts';
import { type Plan, planOf } from './plan.ts';
import { shrink } from './shrink.ts';
import { textOf } from './text.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string' },
    only: { type: 'string' },
    minutes: { type: 'string' },
    compares: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    match: { type: 'string', multiple: true, default: [] },
    first: { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
});

const started = Date.now();
const store = mkdtempSync(join(tmpdir(), 'oracle-server-'));
const server = await ServerProcess.start(store, { program: SERVER });
const totals = { cases: 0, compares: 0, hits: 0 };
const found = new Map<string, number[]>();

const minutes = Number(values.minutes ?? (values.compares ? Number.POSITIVE_INFINITY : 1));
const compares = Number(values.compares ?? Number.POSITIVE_INFINITY);
let next = Number(values.seed ?? values.from ?? Math.floor(started / 1000) % 1_000_000_000);
const last = values.seed === undefined ? Number.POSITIVE_INFINITY : next;
const matches = values.match.map((pattern) => new RegExp(pattern));
const only = values.only === undefined ? undefined : new Set(values.only.split(',').map(Number));

try {
  console.log(`oracle: ${EXECUTABLE}, from seed ${next}`);
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
} finally {
  await server.stop();
  rmSync(store, { recursive: true, force: true });
}
const seconds = Math.round((Date.now() - started) / 1000);
console.log(`${totals.cases} cases, ${totals.compares} compares, ${totals.hits} hits, ${seconds} s`);
for (const [kind, seeds] of found) console.log(`${kind}: ${seeds.length} cases, seeds ${seeds.join(' ')}`);
process.exitCode = found.size > 0 ? 1 : 0;

async function work(): Promise<void> {
  while (
    !isEnough() &&
    next <= last &&
    totals.compares < compares &&
    Date.now() - started < minutes * 60_000
  ) {
    const seed = next++;
    const plan = planOf(seed);
    if (!isAsked(plan)) continue;
    const report = await runCase(plan, server.url, only).catch((error: unknown) => {
      console.log(`--- seed ${seed}: the case broke off`, error);
      found.set('broken case', [...(found.get('broken case') ?? []), seed]);
    });
    if (!report) continue;
    totals.cases++;
    totals.compares += report.compares;
    totals.hits += report.hits;
    if (report.differences.length > 0) await tell(seed, report);
    else if (values.seed !== undefined) console.log(textOf(plan, report));
  }
}

/** With --first the first difference is enough. */
function isEnough(): boolean {
  return values.first && found.size > 0;
}

/** Seeds whose plan, as JSON, matches every --match; others cost nothing. What the plan did not choose does not count. */
function isAsked({ recipe: { name }, ...plan }: Plan): boolean {
  const text = JSON.stringify({ name, ...plan });
  return matches.every((pattern) => pattern.test(text));
}

async function tell(seed: number, report: Report): Promise<void> {
  for (const kind of new Set(report.differences.map((one) => one.kind))) {
    found.set(kind, [...(found.get(kind) ?? []), seed]);
  }
  const plan = planOf(seed);
  if (values['no-shrink']) return console.log(textOf(plan, report));
  const small = await shrink(plan, report, server.url, only);
  console.log(textOf(plan, small.report, small.only));
}
