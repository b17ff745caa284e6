// Races of main, a pull request and a sibling of it for the same keys, through five protocols, against a server
// process with a disk store. Each stores other content. Main never gets a byte of another one's. A pull request
// gets its own content or main's, and never a sibling's.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { makeToken, type TokenEntry, updateTokens } from '../../server/access/tokens-file.ts';
import { Workshop } from '../rig/assay.ts';
import { noise, Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { MAIN, PULL, SIBLING } from '../server/access/identities.ts';
import { reapiClient } from '../server/protocols/reapi/rig.ts';
import { RACE_PROTOCOLS, type RaceProtocol, type Racer } from './access/race-protocols.ts';

const SEED = 20_261_117;
const RACES = soak(10_000);
const AT_ONCE = 12;
const IDENTITIES = { main: MAIN, pull: PULL, sibling: SIBLING };
const NAMES = ['main', 'pull', 'sibling'] as const;
type Name = (typeof NAMES)[number];

/** Whose content each may get. */
const READS: Readonly<Record<Name, readonly Name[]>> = {
  main: ['main'],
  pull: ['pull', 'main'],
  sibling: ['sibling', 'main'],
};

interface Race {
  readonly key: string;
  readonly contents: Readonly<Record<Name, Buffer>>;
  readonly protocols: readonly RaceProtocol[];
  /** Who has stored content, as the server acknowledged it. */
  readonly stored: Set<Name>;
}

function raceOf(number: number): Race {
  const random = new Random(SEED + number);
  const first = random.pick(RACE_PROTOCOLS);
  const sizes = [1, 100, 3000, 3000, 70_000];
  const contentOf = (name: Name) =>
    Buffer.concat([Buffer.from(`${name} ${number} `), noise(number, random.pick(sizes))]);
  return {
    key: digestOf(Buffer.from(`race ${SEED} ${number}`)).hash,
    contents: { main: contentOf('main'), pull: contentOf('pull'), sibling: contentOf('sibling') },
    protocols: RACE_PROTOCOLS.filter(({ keys }) => keys === first.keys),
    stored: new Set(),
  };
}

/** The name of the identity whose content it is. */
function ownerOf({ contents, key }: Race, found: Buffer): Name {
  const owner = NAMES.find((name) => contents[name].equals(found));
  if (!owner) throw new Error(`content of nobody under ${key}: ${found.subarray(0, 60).toString('latin1')}`);
  return owner;
}

/** What each does is random: it stores once or twice or not at all, and reads before, meanwhile and after. */
async function run(number: number, racers: Readonly<Record<Name, Racer>>): Promise<Race> {
  const race = raceOf(number);
  const random = new Random(SEED ^ number);
  const turns = NAMES.flatMap((name) => {
    const puts = name === 'main' ? 1 + random.below(2) : random.below(3);
    return [...Array.from({ length: puts }, () => put(name)), ...[1, 2].map(() => get(name))];
  });
  function put(name: Name) {
    const protocol = random.pick(race.protocols);
    return async () => {
      await protocol.put(racers[name], race.key, race.contents[name]);
      race.stored.add(name);
    };
  }
  function get(name: Name) {
    const protocol = random.pick(race.protocols);
    return async () => {
      const hasStored = race.stored.has(name);
      const mainHasStored = race.stored.has('main');
      const found = await protocol.get(racers[name], race.key);
      if (found) expect(READS[name]).toContain(ownerOf(race, found));
      /** Nothing that was acknowledged is lost, and the own content comes first. */
      if (hasStored) expect(found && ownerOf(race, found)).toBe(name);
      else if (mainHasStored) expect(found).toBeDefined();
    };
  }
  await Promise.all(random.shuffled(turns).map((turn) => turn()));
  return race;
}

/** After the race, each gets its own content if it has stored any, and main's otherwise. */
async function check(race: Race, racers: Readonly<Record<Name, Racer>>): Promise<void> {
  for (const name of NAMES)
    for (const protocol of race.protocols) {
      const found = await protocol.get(racers[name], race.key);
      const expected = race.stored.has(name) ? name : 'main';
      expect(found && ownerOf(race, found), `${race.key} by ${name}`).toBe(expected);
    }
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

async function tokensIn(file: string): Promise<Readonly<Record<Name, string>>> {
  const made = NAMES.map((name) => {
    const { namespace, reads, rights } = IDENTITIES[name];
    return makeToken({ name, namespace, reads, rights: [...rights] }, Date.now());
  });
  await updateTokens(file, (): TokenEntry[] => made.map(({ entry }) => entry));
  const [main = '', pull = '', sibling = ''] = made.map(({ token }) => token);
  return { main, pull, sibling };
}

async function start(shop: Workshop, file: string): Promise<ServerProcess> {
  const server = await ServerProcess.start(shop.store, { args: ['--tokens', file] });
  onTestFinished(() => server.stop());
  return server;
}

async function racersOf({ url }: ServerProcess, tokens: Readonly<Record<Name, string>>) {
  const racer = async (name: Name): Promise<Racer> => {
    const token = tokens[name];
    return { url, token, grpc: await reapiClient(url, { authorization: `Bearer ${token}` }) };
  };
  return { main: await racer('main'), pull: await racer('pull'), sibling: await racer('sibling') };
}

test(`${RACES} races of a pull request and main for the same keys (seed ${SEED})`, async () => {
  const shop = new Workshop();
  onTestFinished(() => shop.remove());
  const file = join(shop.folder, 'tokens.json');
  const tokens = await tokensIn(file);
  const server = await start(shop, file);
  const racers = await racersOf(server, tokens);
  const races: Race[] = [];
  await inParallel(Array.from({ length: RACES }).keys().toArray(), async (number) => {
    const race = await run(number, racers);
    await check(race, racers);
    races.push(race);
  });
  expect(races).toHaveLength(RACES);
  await server.kill();
  const again = await racersOf(await start(shop, file), tokens);
  await inParallel(races.slice(0, Math.ceil(RACES / 5)), (race) => check(race, again));
}, 900_000);
