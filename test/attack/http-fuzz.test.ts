// Seeded mutations of requests of every HTTP protocol, sent to a real server. It refuses invalid requests,
// and none makes it fail, stop, or leak memory or file descriptors.
import { request as ask } from 'undici';
import { expect, test } from 'vitest';
import { Random } from '../rig/random.ts';
import type { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { FuzzConnection } from './fuzz/connection.ts';
import { httpTargets } from './fuzz/http-targets.ts';
import { mutated } from './fuzz/mutate.ts';
import { bytesOf, type FuzzTarget } from './fuzz/request.ts';
import { anonymousBytes, keptBytes, openFiles, settled, startVictim } from './fuzz/victim.ts';

const SEED = 20_261_115;
const REQUESTS = soak(50_000, 2_500);
const CONNECTIONS = 8;
const MIB = 1024 * 1024;

test(`after ${REQUESTS} mutated requests the server still serves and has leaked nothing (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const server = await startVictim();
  const random = new Random(SEED);
  const fuzz = new Fuzz(server, random, await httpTargets(random));
  await fuzz.run(REQUESTS / 2);
  const before = { kept: await keptBytes(server), anonymous: anonymousBytes(server) };
  const handles = openFiles(server);
  await fuzz.run(REQUESTS / 2);
  expect(fuzz.faults).toEqual([]);
  expect(server.child.exitCode).toBeNull();
  expect((await ask(`${server.url}/healthz`)).statusCode).toBe(200);
  expect(fuzz.untouched()).toEqual([]);
  expect((await keptBytes(server)) - before.kept).toBeLessThan(16 * MIB);
  expect(anonymousBytes(server) - before.anonymous).toBeLessThan(96 * MIB);
  await settled(() => openFiles(server) <= handles + 2);
});

class Fuzz {
  /** Requests answered with a 5xx status, or not answered because the server was gone. */
  readonly faults: string[] = [];
  readonly #port: number;
  readonly #random: Random;
  readonly #targets: readonly FuzzTarget[];
  readonly #successes = new Set<string>();
  readonly #refusals = new Set<string>();

  constructor({ url }: ServerProcess, random: Random, targets: readonly FuzzTarget[]) {
    this.#port = Number(new URL(url).port);
    this.#random = random;
    this.#targets = targets;
  }

  /** Sequential, so that the seed determines the order and therefore each request's outcome. */
  async run(requests: number): Promise<void> {
    const connections = Array.from({ length: CONNECTIONS }, () => new FuzzConnection(this.#port));
    let left = requests;
    const work = async (connection: FuzzConnection) => {
      while (left-- > 0) await this.#one(connection);
      connection.close();
    };
    await Promise.all(connections.map(work));
  }

  async #one(connection: FuzzConnection): Promise<void> {
    const target = this.#random.pick(this.#targets);
    const bent = mutated(this.#random, target.next());
    const { status = 0, body } = await connection.send(bent);
    target.received?.(body);
    if (status >= 500)
      this.faults.push(`${status} ${body} for ${bytesOf(bent).subarray(0, 500).toString('latin1')}`);
    if (status >= 200 && status < 300) this.#successes.add(target.name);
    if (status >= 400) this.#refusals.add(target.name);
  }

  /** Protocols that never accepted or never refused a request: the fuzzer did not really test them. */
  untouched(): string[] {
    const names = this.#targets.map(({ name }) => name);
    return names.filter((name) => !this.#successes.has(name) || !this.#refusals.has(name));
  }
}
