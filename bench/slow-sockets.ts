// `npm run bench -- slow-sockets [--seconds N] [--manner NAME] [--once]`: the latency of healthy clients
// beside 2,000 slow ones, compared with their latency alone: idle, attacked, idle again. A slow socket that
// the server cuts reconnects at once, except with --once. Server, healthy clients and slow clients are
// separate processes. The slow clients have the lowest priority, so that their own work delays nobody. On a
// small machine they still cost time; a control with the same slow clients at another server measures it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { Random } from '../test/rig/random.ts';
import { ServerProcess } from '../test/rig/server.ts';
import { manners } from '../test/rig/slow-sockets.ts';
import { newBlob, read, send } from '../test/rig/uploads.ts';
import { cpuSecondsOf, forgetPeakMemory, peakMemoryBytes } from './server/process.ts';
import type { CrowdJob, Dispersed } from './slow-sockets/crowd.ts';
import type { HealthyJob, Waits } from './slow-sockets/healthy.ts';

const SOCKETS = 2_000;
const BUSY_CLIENTS = 32;
const IDLE_SECONDS = 15;
const MIB = 1024 * 1024;
/** Enough for a 99th percentile that is not simply the worst value. */
const ENOUGH_ANSWERS = 2_000;
/** Parallel garbage collectors would take both processors from the server for milliseconds at a time. */
const BY_ITSELF = { execArgv: ['--single-threaded-gc'] };

const seconds = Number(process.argv[process.argv.indexOf('--seconds') + 1] ?? Number.NaN) || 60;
const folder = mkdtempSync(join(tmpdir(), 'assay-slow-'));
const server = await ServerProcess.start(join(folder, 'store'), { form: 'bundle' });
const another = await ServerProcess.start(join(folder, 'another'), { form: 'bundle' });
const agent = new Agent({ connections: 4 });
const random = new Random(4711);
const items = Array.from({ length: 50 }, () => newBlob(random, 1 + random.below(20_000)));
const large = newBlob(random, 8 * MIB);
for (const item of [...items, large]) await send(server.url, item, agent);
await send(another.url, large, agent);
await agent.close();
const wanted = process.argv.includes('--manner') && process.argv[process.argv.indexOf('--manner') + 1];
const comesBack = !process.argv.includes('--once');
const kinds = manners(large.path).filter(({ name }) => !wanted || name === wanted);
const healthy = fork(join(import.meta.dirname, 'slow-sockets/healthy.ts'), BY_ITSELF);

async function waits(forSeconds: number): Promise<Waits> {
  const sent = items.map(({ path, bytes }) => ({ path, base64: bytes.toString('base64') }));
  const job: HealthyJob = { url: server.url, items: sent, seconds: forSeconds };
  healthy.send(job);
  const [answer]: Waits[] = await once(healthy, 'message');
  if (!answer) throw new Error('the healthy clients said nothing');
  return answer;
}

/** Warms the server up: a fresh one has neither buffers nor compiled code. */
async function workOff(): Promise<void> {
  const busy = new Agent({ connections: BUSY_CLIENTS });
  const client = async () => {
    for (let round = 0; round < 10; round++)
      for (const item of [...items, large]) await read(server.url, item, busy);
  };
  await Promise.all(Array.from({ length: BUSY_CLIENTS }, client));
  await busy.close();
}

/** Resolves when all are connected, to the function that disconnects them. */
async function gatherCrowd(at: ServerProcess): Promise<() => Promise<Dispersed>> {
  const child = fork(join(import.meta.dirname, 'slow-sockets/crowd.ts'), BY_ITSELF);
  const job: CrowdJob = {
    port: Number(new URL(at.url).port),
    manners: kinds,
    sockets: SOCKETS,
    comesBack,
  };
  child.send(job);
  await once(child, 'message');
  return async () => {
    child.send('disperse');
    const [dispersed]: Dispersed[] = await once(child, 'message');
    if (!dispersed) throw new Error('the crowd said nothing');
    return dispersed;
  };
}

function tell(when: string, { p50, p99, answers, wrong, stolenSeconds }: Waits): void {
  const waited = `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms of ${answers} answers, ${wrong} wrong`;
  const without = stolenSeconds > 0 ? `; without ${stolenSeconds} s in which the host had a processor` : '';
  console.log(`${when}: ${waited}${without}`);
}

const pid = server.child.pid ?? 0;
await workOff();
await waits(3);
const before = await waits(IDLE_SECONDS);
tell('idle', before);
const disperseOthers = await gatherCrowd(another);
const elsewhere = await waits(seconds);
tell(`${SOCKETS} slow sockets at another server for ${seconds} s`, elsewhere);
await disperseOthers();
await another.stop();
await wait(1000);
forgetPeakMemory(pid);
const atRest = peakMemoryBytes(pid);
const disperse = await gatherCrowd(server);
const cpuBefore = cpuSecondsOf([pid]);
const attacked = await waits(seconds);
const cpu = cpuSecondsOf([pid]) - cpuBefore;
const memory = peakMemoryBytes(pid) - atRest;
tell(`${SOCKETS} slow sockets for ${seconds} s`, attacked);
const { cut, longestLifeMs } = await disperse();
await wait(1000);
const after = await waits(IDLE_SECONDS);
tell('idle again', after);
const idle = Math.max(before.p99, after.p99);
const isMeasured = [before, elsewhere, attacked, after].every(({ answers }) => answers >= ENOUGH_ANSWERS);
const times = (p99: number) => (isMeasured ? (attacked.p99 / p99).toFixed(2) : '(the host was busy)');
console.log(`p99 ${times(idle)} times idle, ${times(elsewhere.p99)} times with the crowd at another server`);
console.log(`${cut} slow sockets cut, after ${(longestLifeMs / 1000).toFixed(1)} s at most`);
console.log(
  `server ${((100 * cpu) / seconds).toFixed(0)} % of a core, memory +${(memory / MIB).toFixed(0)} MiB`,
);
healthy.disconnect();
await server.stop();
rmSync(folder, { recursive: true, force: true });
