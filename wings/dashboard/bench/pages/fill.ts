// Fills a disk store for the benchmark of the dashboard: results and blobs of several teams and tools, runs as clients
// report them, and the figures of a week. All of it goes through the ports that a server uses.
import { type Digest, digestOf, type Hash, toWire } from '../../../../core/digest.ts';
import type { MissCause, ReportedStep, RunReport } from '../../../../core/metadata/run-report-schema.ts';
import { type Namespace, parseNamespace, protocolNamespace } from '../../../../core/namespace.ts';
import { Action, ActionResult, Command } from '../../../../core/proto/generated/reapi.ts';
import { MINUTE } from '../../../../core/units.ts';
import type { History } from '../../../../store/history.ts';
import { openDiskStore } from '../../../../store/open.ts';
import type { Store } from '../../../../store/store.ts';
import { ActivityFigures, HOUR } from '../../activity/figures.ts';
import { Reports } from '../../runs/keep-report.ts';

export interface Filled {
  readonly results: number;
  readonly blobs: number;
  readonly runs: number;
  /** Of the newest run. */
  readonly run: string;
  /** Of an action that the store has. */
  readonly key: Hash;
}

const TEAMS = ['web', 'app', 'engine', 'infra', 'data', 'mobile', 'tools', 'docs', 'games', 'labs'].map(
  parseNamespace,
);
const BLOB_BYTES = 200;
const BLOBS_OF_A_RESULT = 9;
const IN_FLIGHT = 200;
const STEPS = 24;
const KINDS_OF_RUNS = 60;
const DAY = 24 * HOUR;
const NOTHING = new Uint8Array(0);

/** Adds to what the folder has. */
export async function fillStore(
  directory: string,
  counts: { readonly entries: number; readonly runs: number },
): Promise<Filled> {
  const store = await openDiskStore({ directory, commitDelayMs: 1 });
  const { history } = store;
  if (!history) throw new Error('the store keeps no history');
  try {
    const key = await putAction(store);
    await putEntries(store, counts.entries);
    await putRuns(history, counts.runs, key);
    if (counts.runs > 0) await putFigures(history);
    return { ...(await counted(store, history)), key };
  } finally {
    await store.close();
  }
}

async function counted(store: Store, history: History): Promise<Omit<Filled, 'key'>> {
  let [results, blobs, runs] = [0, 0, 0];
  for await (const { result } of store.review?.results() ?? []) {
    results++;
    blobs += result.references.length;
  }
  const newest = await history.page({ kind: 'run', limit: 1 });
  for (let before: string | undefined; ; ) {
    const { documents, position } = await history.page({ kind: 'run', before, limit: 1000 });
    runs += documents.length;
    if (position === undefined) break;
    before = position;
  }
  return { results, blobs, runs, run: newest.documents[0]?.id ?? '' };
}

/** One of ten entries is a result, the others are its blobs. */
async function putEntries(store: Store, entries: number): Promise<void> {
  const results = Math.ceil(entries / (BLOBS_OF_A_RESULT + 1));
  await concurrently(results, async (number) => {
    const team = TEAMS[number % TEAMS.length] ?? parseNamespace('web');
    const namespace =
      [team, protocolNamespace('ccache', team), protocolNamespace('turbo', team)][number % 3] ?? team;
    const blobs = Array.from({ length: BLOBS_OF_A_RESULT }, (_, at) =>
      blobOf(number * BLOBS_OF_A_RESULT + at),
    );
    const digests = await Promise.all(blobs.map((blob) => store.blobs.put({}, blob)));
    const key = digestOf(Buffer.from(`result ${number}`)).hash;
    const writer = { name: `ci-${number % 7}`, from: '', via: 'bench', at: Date.now() };
    await store.results.put({ namespace, key }, resultOf(digests), { writer });
  });
}

async function concurrently(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let number = next++; number < count; number = next++) await work(number);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

function blobOf(number: number): Buffer {
  const bytes = Buffer.alloc(BLOB_BYTES);
  bytes.write(`a blob of the benchmark, number ${number}`);
  return bytes;
}

function resultOf(outputs: readonly Digest[]): Uint8Array {
  return ActionResult.encode({
    ...ActionResult.decode(NOTHING),
    outputFiles: outputs.map((digest, index) => ({
      path: `out/${index}`,
      digest: toWire(digest),
      isExecutable: false,
      contents: Buffer.alloc(0),
    })),
  }).finish();
}

async function putAction(store: Store): Promise<Hash> {
  const put = async (bytes: Uint8Array) => toWire(await store.blobs.put({}, Buffer.from(bytes)));
  const commandDigest = await put(
    Command.encode({ ...Command.decode(NOTHING), arguments: ['make', 'all'] }).finish(),
  );
  const inputRootDigest = await put(NOTHING);
  const action = Action.encode({ ...Action.decode(NOTHING), commandDigest, inputRootDigest }).finish();
  return (await store.blobs.put({}, Buffer.from(action))).hash;
}

/** Over the last seven days. A run has 24 of 1,440 steps, and about 8 misses of 400 causes. One of four is a pull request. */
async function putRuns(history: History, runs: number, key: Hash): Promise<void> {
  const reports = new Reports();
  const now = Date.now();
  await concurrently(runs, async (number) => {
    const report = reportOf(number, now - ((runs - number) * 7 * DAY) / runs, key);
    const team = TEAMS[number % TEAMS.length] ?? parseNamespace('web');
    const namespace = number % 4 === 1 ? parseNamespace(`${team}/pr/${number}`) : team;
    const sender = { namespace, identity: 'ci' };
    const unlimited = { limit: Number.POSITIVE_INFINITY, accounts: [] };
    await reports.keep(report, { history, sender, ...unlimited, readable: undefined, blobs: undefined, now });
  });
}

function reportOf(number: number, at: number, key: Hash): RunReport {
  const kind = number % KINDS_OF_RUNS;
  return {
    version: 1,
    id: digestOf(Buffer.from(`run ${number} ${at}`)).hash.slice(0, 32),
    assay: '0.2.0',
    startedAt: new Date(at).toISOString(),
    elapsedMs: 60_000 + number,
    jobs: 4,
    exitCode: number % 20 === 0 ? 1 : 0,
    isInterrupted: false,
    repository: `git.example/acme/repository-${kind % 12}`,
    branch: number % 4 === 0 ? 'main' : `feature-${number % 90}`,
    commit: digestOf(Buffer.from(`commit ${number}`)).hash.slice(0, 40),
    job: `https://ci.example/jobs/${number}`,
    bytesUp: 1e6,
    bytesDown: 5e6,
    warnings: [],
    steps: Array.from({ length: STEPS }, (_, at) => stepOf(kind, at, number, key)),
  };
}

function stepOf(kind: number, at: number, number: number, key: Hash): ReportedStep {
  const isMiss = (number + at) % 3 === 0;
  return {
    step: `package-${kind}#step-${at}`,
    outcome: isMiss ? 'miss' : 'hit-remote',
    why: isMiss ? `src/file-${(number * at) % 400}.ts changed` : 'found at the remote',
    ...(isMiss && { cause: causeOf(number * at) }),
    key: at === 0 ? key : digestOf(Buffer.from(`${number} ${at}`)).hash,
    exitCode: 0,
    startMs: at * 1000,
    elapsedMs: isMiss ? 4000 : 20,
    commandMs: 4000 + at,
    waitedMs: 10,
    needs: at === 0 ? [] : [`package-${kind}#step-${at - 1}`],
    status: at % 5 === 0 ? 'unproven' : 'observed',
    facts: { files: 12, absent: 3, listings: 1, libraries: 9, machine: 1 },
    findings: at % 5 === 0 ? [{ kind: 'network', path: '', detail: 'connected to 192.0.2.1' }] : [],
    moreFindings: 0,
    bytesUp: 1000,
    bytesDown: 5000,
    variables: ['CI', 'NODE_ENV'],
  };
}

function causeOf(number: number): MissCause {
  if (number % 10 === 0) return { kind: 'tool', name: 'node' };
  return { kind: 'input', name: `src/file-${number % 400}.ts` };
}

/** Every hour of eight days, and every minute of the last, for each team. */
async function putFigures(history: History): Promise<void> {
  const end = Date.now() - MINUTE;
  const clock = { now: end - 8 * DAY };
  const figures = new ActivityFigures('bench', () => clock.now);
  const count = async (namespaces: readonly Namespace[]) => {
    for (const namespace of namespaces) {
      const counters = figures.of(namespace);
      counters.requests += 100;
      for (const tool of ['bazel', 'ccache', 'turbo']) counters.lookedUp(tool, clock.now % 3 !== 0);
    }
    await figures.flush(history);
  };
  for (; clock.now < end - DAY; clock.now += HOUR) await count(TEAMS);
  for (; clock.now < end; clock.now += MINUTE) await count(TEAMS);
  await figures.flush(history, true);
}
