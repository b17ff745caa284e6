// `npm run bench -- slow-sockets [--seconds N]`: how long healthy clients wait while 2,000 others take their time, against
// how long they wait when nobody else is there. A slow socket that the server cuts is replaced at once.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { Random } from '../test/rig/random.ts';
import { ServerProcess } from '../test/rig/server.ts';
import { newBlob, read, send } from '../test/rig/uploads.ts';
import { cpuSecondsOf, forgetPeakMemory, peakMemoryBytes } from './server/process.ts';

const SOCKETS = 2_000;
const DRIBBLE_MS = 500;
const CLIENTS = 4;
const MIB = 1024 * 1024;

const seconds = Number(process.argv[process.argv.indexOf('--seconds') + 1] ?? Number.NaN) || 60;
const folder = mkdtempSync(join(tmpdir(), 'assay-slow-'));
const server = await ServerProcess.start(join(folder, 'store'), { form: 'bundle' });
const agent = new Agent({ connections: CLIENTS });
const random = new Random(4711);
const items = Array.from({ length: 50 }, () => newBlob(random, 1 + random.below(20_000)));
for (const item of items) await send(server.url, item, agent);

/** The 99th of a hundred waits, and how many there were. */
async function waits(forSeconds: number): Promise<{ p99: number; answers: number; wrong: number }> {
  const ends = performance.now() + forSeconds * 1000;
  const times: number[] = [];
  let wrong = 0;
  const client = async () => {
    while (performance.now() < ends) {
      const began = performance.now();
      if ((await read(server.url, random.pick(items), agent)) !== 'right') wrong++;
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  times.sort((a, b) => a - b);
  return { p99: times[Math.floor(times.length * 0.99)] ?? 0, answers: times.length, wrong };
}

const HEAD = `PUT /cas/${'d'.repeat(64)} HTTP/1.1\r\nhost: x\r\n`;
const MANNERS = [
  '',
  'GET /heal',
  `${HEAD}content-length: 60000\r\n\r\n`,
  `${HEAD}content-length: 900000\r\n\r\n`,
];
let isOver = false;
let cut = 0;

function dribble(number: number): void {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  const timer = setInterval(() => socket.write('x'), DRIBBLE_MS);
  socket
    .on('error', () => {})
    .on('close', () => {
      clearInterval(timer);
      if (isOver) return;
      cut++;
      dribble(number);
    });
  socket.resume().write(MANNERS[number % MANNERS.length] ?? '');
  sockets.set(number, socket);
}

const sockets = new Map<number, ReturnType<typeof connect>>();
const pid = server.child.pid ?? 0;
await waits(3);
const idle = await waits(10);
forgetPeakMemory(pid);
const atRest = peakMemoryBytes(pid);
// Not all in one moment: then the kernel's queue of new connections is what is measured.
for (let number = 0; number < SOCKETS; number++) {
  dribble(number);
  if (number % 20 === 19) await wait(20);
}
const delay = monitorEventLoopDelay();
delay.enable();
const cpuBefore = cpuSecondsOf([pid]);
const busy = await waits(seconds);
const cpu = cpuSecondsOf([pid]) - cpuBefore;
isOver = true;
for (const socket of sockets.values()) socket.destroy();
console.log(`idle: p99 ${idle.p99.toFixed(1)} ms of ${idle.answers} answers, ${idle.wrong} wrong`);
console.log(
  `with ${SOCKETS} slow sockets for ${seconds} s: p99 ${busy.p99.toFixed(1)} ms of ${busy.answers}, ${busy.wrong} wrong`,
);
console.log(`ratio ${(busy.p99 / idle.p99).toFixed(2)}, ${cut} slow sockets cut and replaced`);
console.log(`this client's own delay: p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms`);
console.log(
  `server ${((100 * cpu) / seconds).toFixed(0)} % of a core, memory +${((peakMemoryBytes(pid) - atRest) / MIB).toFixed(0)} MiB`,
);
await agent.destroy();
await server.stop();
rmSync(folder, { recursive: true, force: true });
