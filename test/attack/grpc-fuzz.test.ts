// Seeded mutations of calls to every gRPC method, sent to a real server. It refuses invalid calls, and none
// makes it fail, stop, or leak memory or file descriptors. http-fuzz.test.ts does the same for HTTP.
import { expect, test } from 'vitest';
import { GrpcClient } from '../rig/grpc.ts';
import { Random } from '../rig/random.ts';
import type { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { bentCall } from './fuzz/bend-call.ts';
import { type GrpcTarget, grpcTargets } from './fuzz/grpc-targets.ts';
import { anonymousBytes, openFiles, settled, startVictim } from './fuzz/victim.ts';

const SEED = 20_261_115;
const CALLS = soak(50_000, 2_500);
const AT_A_TIME = 16;
const CALLS_OF_A_CONNECTION = 500;
const MIB = 1024 * 1024;
const FAULTS = ['UNKNOWN', 'INTERNAL', 'DATA_LOSS', 'UNAVAILABLE'];

test(`after ${CALLS} mutated gRPC calls the server still serves and has leaked nothing (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const server = await startVictim();
  const fuzz = new Fuzz(server, new Random(SEED));
  await fuzz.run(CALLS / 2);
  const before = anonymousBytes(server);
  const handles = openFiles(server);
  await fuzz.run(CALLS / 2);
  expect(fuzz.faults).toEqual([]);
  expect(server.child.exitCode).toBeNull();
  expect(fuzz.untouched()).toEqual([]);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).not.toMatch(new RegExp(`status="(${FAULTS.join('|')})"`));
  expect(anonymousBytes(server) - before).toBeLessThan(96 * MIB);
  await settled(() => openFiles(server) <= handles + 2);
});

class Fuzz {
  readonly faults: string[] = [];
  readonly #url: string;
  readonly #random: Random;
  readonly #targets: readonly GrpcTarget[];
  readonly #successes = new Set<string>();
  readonly #refusals = new Set<string>();

  constructor({ url }: ServerProcess, random: Random) {
    this.#url = url;
    this.#random = random;
    this.#targets = grpcTargets(random);
  }

  async run(calls: number): Promise<void> {
    let left = calls;
    while (left > 0) {
      const client = await GrpcClient.to(this.#url);
      let here = Math.min(left, CALLS_OF_A_CONNECTION);
      left -= here;
      const work = async () => {
        while (here-- > 0) await this.#one(client);
      };
      await Promise.all(Array.from({ length: AT_A_TIME }, work));
      client.close();
    }
  }

  async #one(client: GrpcClient): Promise<void> {
    const target = this.#random.pick(this.#targets);
    const { path, bytes, isCut } = bentCall(this.#random, target.next());
    const call = client.open(path);
    /**
     * Resets with an error, any error: Node's client waits for a response if it resets a stream without one.
     */
    if (isCut) {
      call.stream.write(bytes);
      call.stream.close(1 + this.#random.below(13));
      await call.answer().catch(() => {});
      return;
    }
    call.stream.end(bytes);
    const { status, message } = await call.answer();
    if (FAULTS.includes(status))
      this.faults.push(`${status} ${message} for ${path} ${bytes.subarray(0, 300).toString('hex')}`);
    if (status === 'OK') this.#successes.add(target.name);
    else this.#refusals.add(target.name);
  }

  /** Methods that never succeeded or never refused a call: the fuzzer did not really test them. */
  untouched(): string[] {
    const names = this.#targets.map(({ name }) => name);
    return names.filter((name) => !this.#successes.has(name) || !this.#refusals.has(name));
  }
}
