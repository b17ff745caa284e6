// The index of a full store under load, while its processes are killed and stopped at seeded moments. Reports about
// lmdb describe damage to its free list under heavy writes beside a stale reader (docs/decisions/0455).
//
// Two processes write, evict and read; a third verifies and copies everything; a fourth holds a read transaction.
// After each round all of them are stopped, and the index is checked page by page. The full size takes two hours.
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { openDiskStore } from '../../store/open.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { soak } from '../rig/soak.ts';
import { Child } from '../store/children/child.ts';
import { checkPages } from '../store/disk/index/page-check.ts';
import { useFolders } from '../store/folders.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_118);
const SECONDS = soak(7200, 20);
const LIMIT_MIB = 96;
const ROUND_MS = 2500;
/** A stopped process may hold the lock of the commits, and the others wait for it. */
const LONGEST_STOP_MS = 800;
const { folder } = useFolders();

const ROLES = ['loader', 'loader', 'long-reader', 'stale-reader'] as const;

class Load {
  readonly #directory: string;
  readonly #random: Random;
  readonly children: (Child | undefined)[] = ROLES.map(() => undefined);
  kills = 0;
  stops = 0;
  written = 0;
  verified = 0;
  copied = 0;
  /** Writes that failed because LMDB refused their commit twice. */
  failed = 0;
  /** What the processes printed as errors that are gone. */
  #errorsBefore = '';

  constructor(directory: string, random: Random) {
    this.#directory = directory;
    this.#random = random;
  }

  /** Starts those that are not running, and waits until they are. */
  async start(): Promise<void> {
    for (const [at, role] of ROLES.entries()) {
      if (this.children[at]) continue;
      const path = role === 'stale-reader' ? join(this.#directory, 'v5', 'index') : this.#directory;
      const child = new Child(role, path, 1 + this.#random.below(1_000_000_000), LIMIT_MIB);
      const line = await child.line();
      if (line === undefined) await child.end();
      this.children[at] = child;
      this.#count(child).catch(() => {});
    }
  }

  async #count(child: Child): Promise<void> {
    for (let line = await child.line(); line !== undefined; line = await child.line()) {
      const [what, count] = line.split(' ');
      if (what === 'wrote') this.written += Number(count);
      if (what === 'verified') this.verified += Number(count);
      if (what === 'copied') this.copied += Number(count);
      if (what === 'failed') this.failed += Number(count);
    }
  }

  /** Kills one, stops one for a while, or kills one that is stopped. */
  async hurt(): Promise<void> {
    const at = this.#random.below(ROLES.length);
    const child = this.children[at];
    if (!child) return;
    const way = this.#random.below(3);
    if (way > 0) {
      await child.stop();
      this.stops++;
      await wait(this.#random.below(LONGEST_STOP_MS));
    }
    if (way === 1) {
      child.resume();
      return;
    }
    await child.kill();
    this.kills++;
    this.children[at] = undefined;
    this.#errorsBefore += child.errors;
  }

  get #errors(): string {
    return this.#errorsBefore + this.children.map((child) => child?.errors ?? '').join('');
  }

  /** Commits that LMDB refused because of its free list. */
  get refused(): number {
    return this.#errors.split('freelist duplicates/overlaps').length - 1;
  }

  /** Each line that LMDB printed, once and without its numbers. */
  get said(): string[] {
    const lines = this.#errors.split('\n').map((line) => line.replace(/[-_\d ]+/g, ' ').slice(0, 80));
    return [...new Set(lines)].filter((line) => line.trim() !== '');
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.children.map((child) => child?.stop()));
  }

  resumeAll(): void {
    for (const child of this.children) child?.resume();
  }

  /** What those printed that ended by themselves. */
  failures(): string[] {
    return this.children.flatMap((child) => child?.exit ?? []);
  }

  async killAll(): Promise<void> {
    await Promise.all(this.children.map((child) => child?.kill()));
  }
}

let load: Load | undefined;
afterEach(() => load?.killAll());

test(`after ${SECONDS} s of load, kills and stops every page of the index is in one tree or free (seed ${SEED})`, {
  timeout: 300_000 + SECONDS * 1000,
}, async () => {
  const random = new Random(SEED);
  const directory = folder('/dev/shm');
  await (await openDiskStore({ directory })).close();
  const file = join(directory, 'v5', 'index', 'data.mdb');
  load = new Load(directory, random);
  let checks = 0;
  let [checkedAfter, refused, leakedBefore] = [0, 0, 0];
  const begun = Date.now();
  while (Date.now() - begun < SECONDS * 1000) {
    await load.start();
    await wait(random.below(ROUND_MS));
    await load.hurt();
    await load.stopAll();
    expect(load.failures()).toEqual([]);
    const { leaked } = checkPages(file);
    checks++;
    if (load.refused > refused) checkedAfter++;
    if (load.refused > refused || leaked > leakedBefore)
      console.log(`refused: ${load.refused}, leaked: ${leaked}, LMDB said:`, load.said);
    refused = load.refused;
    leakedBefore = leaked;
    load.resumeAll();
  }
  await load.killAll();
  const checked = checkPages(file);
  expect(load.written).toBeGreaterThan(0);
  keepFigures('index-load', {
    seconds: SECONDS,
    kills: load.kills,
    stops: load.stops,
    'results written': load.written,
    'blobs verified': load.verified,
    'blobs copied': load.copied,
    commits: checked.transaction,
    'commits that LMDB refused for its free list': load.refused,
    'of these failed when repeated': load.failed,
    'checks of all pages': checks + 1,
    'checks right after a refused commit': checkedAfter,
    pages: checked.pages,
    'pages in two places': 0,
    'pages leaked': checked.leaked,
    seed: SEED,
  });
  expect(load.failed).toBe(0);
});
