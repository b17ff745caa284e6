// A run with very many outputs, or a very long log, has a bounded overhead. The full
// size is 100,000 outputs (`npm run bench -- outputs`); here it is a twentieth.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_FORM, Workshop } from '../../rig/assay.ts';
import { soak } from '../../rig/soak.ts';

const OUTPUTS = soak(100_000);
const MIB = 2 ** 20;
const MAKE =
  'import os\nfor d in range(int(os.environ["N"]) // 100):\n os.makedirs(f"out/{d}")\n for i in range(100): open(f"out/{d}/{i}", "w").write(f"{d} {i}")\n';
/**
 * Runs a command and returns the peak memory of its largest process. The limits were measured on Node, so the bundle
 * is started.
 */
const PEAK = [
  '/usr/bin/python3',
  '-c',
  'import resource,subprocess,sys;c=subprocess.call(sys.argv[1:]);print("\\npeak",resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss);sys.exit(c)',
];

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

describe('many outputs', () => {
  const step = (count: number) => [
    ...['run', '--json', '--hermetic=off', '--input', 'make.py', '--output', 'out', '--env', `N=${count}`],
    ...['--', '/usr/bin/python3', 'make.py'],
  ];

  beforeEach(() => shop.write('make.py', MAKE));

  test('are stored in few commits, each with one sync', async () => {
    const counts = join(shop.folder, 'counts');
    const strace = ['strace', '-f', '-c', '-e', 'trace=fdatasync,fsync,msync', '-o', counts];
    const ran = await shop.assayIn(strace, step(OUTPUTS));
    expect(ran.stderr).toContain('"published":true');
    /* Columns: share, seconds, microseconds each, calls, errors if any, name. */
    const lines = readFileSync(counts, 'utf8').trim().split('\n');
    const waits = lines
      .filter((line) => /sync$/.test(line))
      .reduce((sum, line) => sum + Number(line.trim().split(/\s+/)[3]), 0);
    expect(waits).toBeGreaterThan(0);
    expect(waits).toBeLessThan(30 + OUTPUTS / 100);
  });

  test('need little memory to store, restore and find in place', async () => {
    const peaks: number[] = [];
    const measure = async (count: number) => {
      const ran = await shop.assayIn(PEAK, step(count), { form: DEFAULT_FORM });
      expect(ran.code).toBe(0);
      peaks.push(peakOf(ran.stdout));
    };
    await measure(100);
    rmSync(join(shop.workspace, 'out'), { recursive: true });
    await measure(OUTPUTS);
    rmSync(join(shop.workspace, 'out'), { recursive: true });
    await measure(OUTPUTS);
    await measure(OUTPUTS);
    const [few = 0, ...many] = peaks;
    for (const peak of many) expect(peak - few).toBeLessThan(32 * MIB + OUTPUTS * 8192);
  });
});

test('a long log is held in memory only once', async () => {
  const long = 48 * MIB;
  const say = (count: number) => [
    'run',
    '--json',
    '--',
    'sh',
    '-c',
    `head -c ${count} /dev/zero | tr '\\0' x`,
  ];
  const peak = async (count: number) => {
    const ran = await shop.assayIn(PEAK, say(count), { form: DEFAULT_FORM });
    expect(ran.code).toBe(0);
    expect(ran.stdout.length).toBeGreaterThan(count);
    return peakOf(ran.stdout);
  };
  const few = await peak(1);
  expect((await peak(long)) - few).toBeLessThan(long + 80 * MIB);
  expect((await peak(long)) - few).toBeLessThan(long + 32 * MIB);
});

function peakOf(said: string): number {
  return Number(/\npeak (\d+)\n$/.exec(said)?.[1]) * 1024;
}
