// `npm run bench -- slow-sockets [--seconds N] [--manner NAME] [--once]`: how long healthy clients wait while 2,000 others take their
// time, against how long they wait when nobody else is there: idle, attacked, idle again, in one run. A slow socket that the
// server cuts is replaced at once; with --once it is not. Server, healthy clients and crowd are processes of their own, and the crowd comes after
// the others wherever they want the same processor: what it costs to play it is not the server's. It costs the healthy clients
// time all the same on a small machine: how much, the same crowd at another server shows.
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
/** So that a 99th percentile is one of dozens, not the worst. */
const ENOUGH_ANSWERS = 2_000;
/** With helpers, their collectors would take both processors away from the server for milliseconds at a time. */
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

/** What healthy traffic needs is there before anything is counted: a server that has just been started is no measure. */
async function workOff(): Promise<void> {
  const busy = new Agent({ connections: BUSY_CLIENTS });
  const client = async () => {
    for (let round = 0; round < 10; round++)
      for (const item of [...items, large]) await read(server.url, item, busy);
  };
  await Promise.all(Array.from({ length: BUSY_CLIENTS }, client));
  await busy.close();
}

/** Resolves when they are all there, to what sends them away. */
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
