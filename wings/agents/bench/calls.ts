// Memoised calls, from the library of the build: a miss and a hit each, in one process and then in two at once that make
// the same calls. Prints times, sizes, and how often functions were called. Asserts nothing.
//
//   node wings/agents/bench/calls.ts [--calls=COUNT]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { calls: { type: 'string', default: '10000' } } });
const COUNT = Number(values.calls);
const LIBRARY = join(import.meta.dirname, '../../../dist/lib/assay.js');

const PROGRAM = `
  import { call } from ${JSON.stringify(LIBRARY)};
  let made = 0;
  for (const round of ['first', 'again']) {
    const [began, cpu, times] = [performance.now(), process.cpuUsage(), []];
    for (let n = 0; n < ${COUNT}; n++) {
      const start = performance.now();
      await call({ name: 'square', version: '1', input: { n } }, ({ input }) => {
        made++;
        return { square: input.n ** 2 };
      });
      times.push(performance.now() - start);
    }
    const { user, system } = process.cpuUsage(cpu);
    times.sort((a, b) => a - b);
    const each = (value) => (value / ${COUNT}).toFixed(2) + ' ms';
    console.log(process.env.NAME, round, 'wall', each(performance.now() - began), 'CPU', each((user + system) / 1000),
      'median', times[${COUNT} >> 1].toFixed(2), 'p99', times[Math.floor(${COUNT} * 0.99)].toFixed(2), 'called', made);
  }`;

async function runPrograms(names: readonly string[]): Promise<void> {
  const store = mkdtempSync(join(tmpdir(), 'assay-bench-calls-'));
  try {
    const args = ['--input-type=module', '--eval', PROGRAM];
    await Promise.all(
      names.map((name) => {
        const env = { ...process.env, ASSAY_STORE: join(store, 'store'), NAME: name };
        return once(spawn(process.execPath, args, { cwd: store, env, stdio: 'inherit' }), 'close');
      }),
    );
    console.log('store', execFileSync('du', ['-sk', store], { encoding: 'utf8' }).split('\t')[0], 'KiB');
  } finally {
    rmSync(store, { recursive: true });
  }
}

await runPrograms(['alone']);
await runPrograms(['one', 'two']);
