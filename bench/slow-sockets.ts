// `npm run bench -- slow-sockets [--seconds N]`: how long healthy clients wait while 2,000 others take their time, against
// how long they wait when nobody else is there: idle, attacked, idle again, in one run. A slow socket that the server cuts
// is replaced at once.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { Random } from '../test/rig/random.ts';
import { ServerProcess } from '../test/rig/server.ts';
import { Dribbler, manners } from '../test/rig/slow-sockets.ts';
import { newBlob, send } from '../test/rig/uploads.ts';
import { cpuSecondsOf, forgetPeakMemory, peakMemoryBytes } from './server/process.ts';
import type { HealthyJob, Waits } from './slow-sockets/healthy.ts';

const SOCKETS = 2_000;
const DRIBBLE_MS = 500;
const IDLE_SECONDS = 15;
const MIB = 1024 * 1024;
/** New ones in one moment: with more, the kernel's queue of new connections is what is measured. */
const AT_ONCE = 20;
/** Who does not read never learns that it was cut, and is replaced after this. */
const UNREAD_MS = 12_000;

const seconds = Number(process.argv[process.argv.indexOf('--seconds') + 1] ?? Number.NaN) || 60;
const folder = mkdtempSync(join(tmpdir(), 'assay-slow-'));
const server = await ServerProcess.start(join(folder, 'store'), { form: 'bundle' });
const agent = new Agent({ connections: 4 });
const random = new Random(4711);
const items = Array.from({ length: 50 }, () => newBlob(random, 1 + random.below(20_000)));
const large = newBlob(random, 8 * MIB);
for (const item of [...items, large]) await send(server.url, item, agent);
await agent.close();
const healthy = fork(join(import.meta.dirname, 'slow-sockets/healthy.ts'));

async function waits(forSeconds: number): Promise<Waits> {
  const sent = items.map(({ path, bytes }) => ({ path, base64: bytes.toString('base64') }));
  const job: HealthyJob = { url: server.url, items: sent, seconds: forSeconds };
  healthy.send(job);
  const [answer]: Waits[] = await once(healthy, 'message');
  if (!answer) throw new Error('the healthy clients said nothing');
  return answer;
}

class Crowd {
  readonly #port = Number(new URL(server.url).port);
  readonly #manners = manners(large.path);
  readonly #dribblers: Dribbler[] = [];
  #isOver = false;
  replaced = 0;

  async gather(): Promise<void> {
    for (let number = 0; number < SOCKETS; number++) {
      this.#open(number);
      if (number % AT_ONCE === AT_ONCE - 1) await wait(AT_ONCE);
    }
  }

  #open(number: number): void {
    const manner = this.#manners[number % this.#manners.length];
    if (!manner) throw new Error('there is no manner');
    const dribbler = new Dribbler(this.#port, manner);
    this.#dribblers[number] = dribbler;
    if (!manner.reads) setTimeout(() => dribbler.end(), UNREAD_MS).unref();
    dribbler.lifeMs().then(() => {
      if (this.#isOver) return;
      this.replaced++;
      this.#open(number);
    });
  }

  async dribble(): Promise<void> {
    while (!this.#isOver) {
      // A few at a time, all through the half second.
      for (let number = 0; number < SOCKETS; number++) {
        this.#dribblers[number]?.dribble();
        if (number % AT_ONCE === 0) await wait((DRIBBLE_MS * AT_ONCE) / SOCKETS);
      }
    }
  }

  disperse(): void {
    this.#isOver = true;
    for (const dribbler of this.#dribblers) dribbler.end();
  }
}

function tell(when: string, { p50, p99, answers, wrong }: Waits): void {
  console.log(
    `${when}: p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms of ${answers} answers, ${wrong} wrong`,
  );
}

const pid = server.child.pid ?? 0;
await waits(3);
const before = await waits(IDLE_SECONDS);
tell('idle', before);
forgetPeakMemory(pid);
const atRest = peakMemoryBytes(pid);
const crowd = new Crowd();
await crowd.gather();
const dribbling = crowd.dribble();
const cpuBefore = cpuSecondsOf([pid]);
const attacked = await waits(seconds);
const cpu = cpuSecondsOf([pid]) - cpuBefore;
const memory = peakMemoryBytes(pid) - atRest;
tell(`${SOCKETS} slow sockets for ${seconds} s`, attacked);
crowd.disperse();
await dribbling;
await wait(1000);
const after = await waits(IDLE_SECONDS);
tell('idle again', after);
const idle = Math.max(before.p99, after.p99);
console.log(`p99 ${(attacked.p99 / idle).toFixed(2)} times idle, ${crowd.replaced} slow sockets replaced`);
console.log(
  `server ${((100 * cpu) / seconds).toFixed(0)} % of a core, memory +${(memory / MIB).toFixed(0)} MiB`,
);
healthy.disconnect();
await server.stop();
rmSync(folder, { recursive: true, force: true });
