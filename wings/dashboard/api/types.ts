// The JSON answers of /api/v1. The pages show nothing else, and scripts read the same.
// Times are ISO 8601 in UTC, durations are milliseconds, sizes are bytes, rates are from 0 to 1. A field that
// is not known is absent. Texts come from clients: a page must escape them.
//
//   GET  /api/v1/now                              Now
//   GET  /api/v1/tail?after=POSITION              Tail
//   GET  /api/v1/figures?from=T&to=T&namespace=N  Figures
//   GET  /api/v1/runs?repository=&branch=&step=&outcome=&tool=&namespace=&until=DAY&before=POSITION&limit=N   Runs
//   POST /api/v1/runs                             a RunReport (core/metadata/run-report.ts); answers Reported
//   GET  /api/v1/runs/ID                          Run
//   GET  /api/v1/actions/KEY?namespace=N          Action
//   GET  /api/v1/actions/KEY/difference?to=KEY    ActionDifference
//   GET  /api/v1/misses?days=N&namespace=N        Misses
//   GET  /api/v1/trends?weeks=N&repository=&branch=&step=&namespace=N   Trends
//   GET  /api/v1/hermeticity?days=N               Hermeticity
//   GET  /api/v1/storage                          Storage
//   GET  /api/v1/setup                            Setup
//   GET  /api/v1/token                            TokenInfo, for every token
//   GET  /api/v1/openapi.json                     this list as OpenAPI 3.1
//
// Runs, misses, trends and hermeticity hold what the token may read: its own namespace, those that it reads besides, and with
// `overview` or `admin` those below. Figures (now, tail, figures, storage, setup) hold what its rights show: `stats` its
// own namespace, `overview` and `admin` also those below, `server:stats` the whole server.
import type { EvidenceStatus } from '../../../core/evidence.ts';
import type {
  MissCause,
  ReportedDifference,
  ReportedFacts,
  ReportedFinding,
  ReportedSeen,
  StepOutcome,
} from '../../../core/metadata/run-report.ts';

export type { MissCause, StepOutcome } from '../../../core/metadata/run-report.ts';

/** What the result depends on beyond its declaration, counted by kind. */
export type ActionFacts = ReportedFacts;

/** Something undeclared that the command did. */
export type ActionFinding = ReportedFinding;

// ── Now ──────────────────────────────────────────────────────────────────────────────────────────────────

export interface Now {
  readonly at: string;
  readonly version: string;
  readonly health: { readonly status: 'good' | 'warning' | 'fault'; readonly sentence: string };
  /** False if the token sees only some namespaces. */
  readonly isWhole: boolean;
  /** Since midnight UTC, in whole hours. */
  readonly today: Totals;
  /** The same hours of the same weekday, one week before. */
  readonly weekBefore: Totals;
  readonly warnings: readonly Warning[];
  /** Newest first. */
  readonly tail: Tail;
  /** The last 24 hours, oldest first. */
  readonly figures: Figures;
  readonly newestRuns: readonly RunRow[];
}

export interface Totals {
  /** Lookups of results by all tools; blobs are not counted. */
  readonly hits: number;
  readonly misses: number;
  /** Absent without lookups. */
  readonly hitRate?: number;
  /** Of the runs that reported: the sum of their commands' durations, minus what their hits took. */
  readonly savedMs: number;
  readonly runs: number;
  /** Absent without the right `server:stats`. */
  readonly bytesReceived?: number;
  readonly bytesSent?: number;
  readonly requests: number;
  readonly errors: number;
  /** Absent without any. */
  readonly leases?: LeaseTotals;
}

/** Action leases: how many were granted, and how many waits for one brought the result or were given up. */
export interface LeaseTotals {
  readonly granted: number;
  readonly waited: number;
  readonly hedged: number;
  /** Holders that died, and were replaced. */
  readonly expired: number;
  /** The durations of the actions whose results were waited for. */
  readonly savedMs: number;
}

export interface Warning {
  /** What is wrong, as a sentence. */
  readonly text: string;
  readonly whatToDo: string;
}

export interface Tail {
  /** Newest first. */
  readonly events: readonly TailEvent[];
  /** For the next request: `after`. */
  readonly position: string;
}

/** One lookup or one write of a result. */
export interface TailEvent {
  readonly at: string;
  readonly tool: string;
  readonly what: 'hit' | 'miss' | 'stored' | 'denied';
  readonly namespace: string;
  readonly identity: string;
  /** Of the result. An opaque key of a tool is hashed. */
  readonly key: string;
  /** Of the tool's own invocation, if it sends one: the id of a run. */
  readonly run?: string;
}

// ── Figures over time ────────────────────────────────────────────────────────────────────────────────────

export interface Figures {
  /** The width of a point: a minute for up to 3 hours of the last day, 10 minutes for more of it, else an hour. */
  readonly stepMs: number;
  /** Oldest first, without gaps. */
  readonly points: readonly FigurePoint[];
}

export interface FigurePoint extends Totals {
  readonly at: string;
  /** The time within which half, and 99 of 100 requests were answered. Absent without requests. */
  readonly medianMs?: number;
  readonly p99Ms?: number;
}

// ── Runs ─────────────────────────────────────────────────────────────────────────────────────────────────

export interface Runs {
  /** Newest first. */
  readonly runs: readonly RunRow[];
  /** For the next page: `before`. Absent on the last one. */
  readonly next?: string;
  /** What the newest runs have, to choose from. */
  readonly choices: {
    readonly repositories: readonly string[];
    readonly branches: readonly string[];
    readonly tools: readonly string[];
    readonly namespaces: readonly string[];
  };
}

/** `reported`: a client of Assay reported it. `grouped`: the requests of another tool that belong together. */
export type RunSource = 'reported' | 'grouped';

/** `running`: requests of it still come in. `unknown`: the tool does not tell how it ended. */
export type RunOutcome = 'passed' | 'failed' | 'interrupted' | 'running' | 'unknown';

export interface RunRow {
  readonly id: string;
  readonly source: RunSource;
  /** "assay", "bazel", "turbo", … and its version, as far as the tool tells it. */
  readonly tool: string;
  readonly toolVersion?: string;
  readonly namespace: string;
  /** The name of the token that sent it. */
  readonly identity: string;
  readonly startedAt: string;
  readonly elapsedMs: number;
  readonly outcome: RunOutcome;
  /** What ran: the names of some steps. Absent for a grouped run. */
  readonly ran?: readonly string[];
  readonly repository?: string;
  readonly branch?: string;
  readonly commit?: string;
  /** The address of the CI job; only http and https. */
  readonly job?: string;
  /** The machine, if there is no CI job. */
  readonly where?: string;
  readonly steps: number;
  readonly hits: number;
  readonly misses: number;
  readonly failed: number;
  readonly savedMs: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
}

export interface Run extends RunRow {
  readonly jobs?: number;
  readonly exitCode?: number;
  readonly warnings: readonly string[];
  /** In the order of their start. Empty for a grouped run. */
  readonly stepList: readonly RunStep[];
  /** The first steps that failed, at most 5. */
  readonly failures: readonly FailedStep[];
  /** The names of the steps that determined the duration, first to last. */
  readonly criticalPath: readonly string[];
  /** The newest earlier run of the same repository and branch with the same steps. */
  readonly previous?: { readonly id: string; readonly elapsedMs: number };
  /** Of a grouped run: what was looked up, newest first, at most 200. */
  readonly lookups: readonly TailEvent[];
}

export interface FailedStep {
  readonly step: string;
  readonly exitCode: number;
  readonly why: string;
  /** The end of what it printed, in order. Absent if the run sent none. Without text if it is no longer stored. */
  readonly log?: LogText;
  /** There is a log, but the token may not read it: that needs results:read and blobs:read in the run's namespace. */
  readonly isHidden?: true;
}

export interface RunStep {
  readonly step: string;
  readonly outcome: StepOutcome;
  /** In one line: of a miss, what differs; of a hit, where it was found; of a failure, what is wrong. */
  readonly why: string;
  readonly cause?: MissCause;
  /** Of a miss, without values; how many more; where the earlier action ran (`at` in milliseconds since 1970). */
  readonly differences?: readonly ReportedDifference[];
  readonly moreDifferences?: number;
  readonly seen?: ReportedSeen;
  readonly key?: string;
  /** The server has the action, so /action/KEY shows it. */
  readonly isStored: boolean;
  readonly exitCode: number;
  /** From the start of the run. */
  readonly startMs: number;
  readonly elapsedMs: number;
  /** The duration of the command when it ran: now, or in the run that a hit comes from. */
  readonly commandMs: number;
  /** Waited for a free job slot. */
  readonly waitedMs: number;
  readonly needs: readonly string[];
  readonly isCritical: boolean;
  readonly status?: EvidenceStatus;
  readonly facts?: ActionFacts;
  readonly findings: readonly ActionFinding[];
  /** Beyond those listed. */
  readonly moreFindings: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  /** Why the result was not kept. */
  readonly notKept?: string;
  readonly diverged: boolean;
  /** Declared variables by name; values are never sent. */
  readonly variables: readonly string[];
}

export interface Reported {
  readonly id: string;
  /** The page of the run on this server. */
  readonly url: string;
}

// ── Action ───────────────────────────────────────────────────────────────────────────────────────────────

export interface Action {
  readonly key: string;
  readonly namespace: string;
  readonly command: readonly string[];
  readonly workingDirectory: string;
  /** Names only: a value may be a secret. */
  readonly variables: readonly string[];
  readonly platform: readonly NameAndValue[];
  readonly tools: readonly NameAndValue[];
  /** By path. At most 10,000; `moreInputs` counts the rest. */
  readonly inputs: readonly FileRow[];
  readonly moreInputs: number;
  readonly declaredOutputs: readonly string[];
  /** Absent if the server has the action without a result. */
  readonly result?: ActionResultDetails;
  /** Steps that had this key, newest first. */
  readonly runs: readonly {
    readonly run: string;
    readonly step: string;
    readonly at: string;
    readonly outcome: StepOutcome;
  }[];
  /** Other actions of the same step, newest first, to compare with. */
  readonly others: readonly { readonly key: string; readonly at: string; readonly step: string }[];
}

export interface NameAndValue {
  readonly name: string;
  readonly value: string;
}

export interface FileRow {
  readonly path: string;
  readonly size?: number;
  readonly hash?: string;
  /** Of a link. */
  readonly target?: string;
}

export interface ActionResultDetails {
  readonly exitCode: number;
  readonly commandMs?: number;
  readonly outputs: readonly FileRow[];
  readonly moreOutputs: number;
  readonly stdout: LogText;
  readonly stderr: LogText;
  readonly status: EvidenceStatus;
  readonly facts: readonly { readonly what: string; readonly state: string; readonly why: string }[];
  readonly findings: readonly ActionFinding[];
  /** Whose run made it, as that run says itself. */
  readonly receipt: {
    readonly at?: string;
    readonly where?: string;
    readonly commit?: string;
    readonly assay?: string;
  };
  /** Another run of the same action made other outputs. Known when the store was read for it. */
  readonly divergence?: DivergenceRow;
  /** Who wrote it, as the server saw it. */
  readonly writer?: { readonly name: string; readonly protocol: string; readonly at: string };
}

export interface LogText {
  readonly bytes: number;
  /** The last 64 KiB, if the server has it. */
  readonly text?: string;
  readonly isCut: boolean;
}

export interface ActionDifference {
  readonly from: string;
  readonly to: string;
  /** Each as a sentence, the most telling first; and what it is about. */
  readonly differences: readonly { readonly text: string; readonly cause: MissCause }[];
}

// ── Misses worth fixing ──────────────────────────────────────────────────────────────────────────────────

export interface Misses {
  /** The begin of the first day, in UTC: misses are added up by day. */
  readonly from: string;
  readonly to: string;
  /** When they were read. Absent while they are read for the first time. */
  readonly readAt?: string;
  readonly runs: number;
  readonly misses: number;
  /** The duration of the commands of all misses. */
  readonly lostMs: number;
  /** Ranked by lostMs. */
  readonly causes: readonly MissRow[];
  /** Beyond those listed. */
  readonly moreCauses: number;
}

export interface MissRow {
  readonly cause: MissCause;
  /** As a sentence, such as "VERSION.txt changed". */
  readonly text: string;
  readonly count: number;
  readonly lostMs: number;
  /** Of all lost time. */
  readonly share: number;
  /** The steps that lost most, at most 5. */
  readonly steps: readonly {
    readonly step: string;
    readonly repository?: string;
    readonly count: number;
    readonly lostMs: number;
  }[];
  readonly whatToDo: string;
  /** A run where it happened. */
  readonly example: { readonly run: string; readonly step: string; readonly at: string };
}

// ── Trends ───────────────────────────────────────────────────────────────────────────────────────────────

/** What reported runs did, week by week. Runs of other tools tell no steps, so they are not counted. */
export interface Trends {
  /** The begin of the first week. A week begins on Monday, 0:00 UTC. */
  readonly from: string;
  readonly to: string;
  /** When it was read. Absent while it is read for the first time. */
  readonly readAt?: string;
  /** Oldest first, without gaps; the last one goes on. */
  readonly weeks: readonly TrendWeek[];
  /** Those whose commands took most time, at most 50. */
  readonly steps: readonly StepTrend[];
  readonly moreSteps: number;
  /** Without those of pull requests, the newest first, at most 50. */
  readonly branches: readonly BranchTrend[];
  readonly moreBranches: number;
  /** By the place of their namespaces, the newest first, at most 20. */
  readonly pullRequests: readonly PullRequests[];
  /** Steps that are slower since a commit, by the time that it has cost, at most 20. */
  readonly slower: readonly SlowerStep[];
  /** Steps that failed and passed with the same key, the newest first, at most 20. */
  readonly flaky: readonly FlakyStep[];
  /** If a step was asked for: when its command ran on the main branch, the newest first, at most 60. */
  readonly times?: readonly TimedCommit[];
  readonly choices: { readonly repositories: readonly string[]; readonly branches: readonly string[] };
}

/** Steps by how they ended. */
export interface StepTotals {
  readonly hits: number;
  readonly misses: number;
  readonly failed: number;
  /** Absent without steps. */
  readonly hitRate?: number;
  /** The durations of the commands that hits spared, minus what the hits took. */
  readonly savedMs: number;
  /** The durations of the commands that ran. */
  readonly ranMs: number;
}

export interface TrendWeek extends StepTotals {
  readonly from: string;
  /** If a step was asked for: those with the step. */
  readonly runs: number;
  /** Of the branches main, master and trunk; of pull requests; of all others. */
  readonly main: StepTotals;
  readonly pullRequests: StepTotals;
  readonly others: StepTotals;
  /** If a step was asked for: how long its command took when it ran and ended well, to 4 %. */
  readonly medianMs?: number;
  readonly p95Ms?: number;
}

export interface StepTrend extends StepTotals {
  /** "(other)" adds up the steps that are too many to be counted one by one. */
  readonly step: string;
  readonly repository?: string;
  readonly medianMs?: number;
  readonly p95Ms?: number;
}

/** What some runs did. */
export interface RunTotals extends StepTotals {
  readonly runs: number;
  readonly lastRunAt: string;
  /** Absent if a step was asked for. */
  readonly elapsedMs?: number;
  readonly bytesUp?: number;
  readonly bytesDown?: number;
}

export interface BranchTrend extends RunTotals {
  /** "(other)" adds up the branches that are too many to be counted one by one. */
  readonly branch?: string;
  readonly repository?: string;
}

/** The pull requests of one place. */
export interface PullRequests extends RunTotals {
  /** PARENT/pr/… */
  readonly place: string;
  readonly repository?: string;
  /** How many. */
  readonly count: number;
  /** At most 20. */
  readonly newest: readonly PullRequestTrend[];
}

export interface PullRequestTrend extends RunTotals {
  readonly namespace: string;
  readonly branch?: string;
}

export interface SlowerStep {
  readonly step: string;
  readonly repository?: string;
  readonly namespace: string;
  readonly branch?: string;
  /** The first commit with which it was slower, and the last one before. It did not run between them. */
  readonly first: TimedCommit;
  readonly last: TimedCommit;
  /** The medians before and since, and of how many runs. */
  readonly beforeMs: number;
  readonly afterMs: number;
  readonly runsBefore: number;
  readonly runsAfter: number;
}

export interface TimedCommit {
  readonly commit: string;
  readonly run: string;
  readonly at: string;
  readonly commandMs: number;
}

export interface FlakyStep {
  readonly step: string;
  readonly repository?: string;
  /** Of pull requests: PARENT/pr/… */
  readonly namespace: string;
  /** How often a run ended in another way than an earlier one with its key. */
  readonly times: number;
  /** The newest of them. */
  readonly key: string;
  readonly passed: { readonly run: string; readonly at: string };
  readonly failed: { readonly run: string; readonly at: string; readonly exitCode: number };
}

// ── Hermeticity ──────────────────────────────────────────────────────────────────────────────────────────

export interface Hermeticity {
  readonly from: string;
  readonly to: string;
  /** When the steps were read. Absent while they are read for the first time. */
  readonly stepsReadAt?: string;
  readonly counts: Readonly<Record<EvidenceStatus, number>>;
  /** Every step by its newest run, the least proven first. At most 1000. */
  readonly steps: readonly HermeticStep[];
  readonly moreSteps: number;
  /** Newest first. */
  readonly findings: readonly FindingRow[];
  readonly divergences: readonly DivergenceRow[];
  readonly moreDivergences: boolean;
  /** When the store was read for divergences. Absent while it is read for the first time. */
  readonly divergencesReadAt?: string;
}

export interface HermeticStep {
  readonly step: string;
  readonly repository?: string;
  readonly namespace: string;
  readonly status: EvidenceStatus;
  readonly at: string;
  readonly run: string;
  readonly key?: string;
  readonly findings: number;
}

export interface FindingRow extends ActionFinding {
  readonly step: string;
  readonly repository?: string;
  readonly at: string;
  readonly run: string;
  /** What to write into assay.json, if that would help. */
  readonly lineToWrite?: string;
}

export interface DivergenceRow {
  readonly key: string;
  readonly namespace: string;
  readonly first?: { readonly name: string; readonly protocol: string; readonly at: string };
  readonly second?: { readonly name: string; readonly protocol: string; readonly at: string };
  /** As a sentence, with the first differing byte where there is one. */
  readonly text: string;
  readonly path?: string;
  readonly byte?: number;
  /** As hex, from that byte on, at most 16. Empty for a content that ends there. */
  readonly bytes?: { readonly first: string; readonly second: string };
  /** The server has the action of this key. It does not for a result that depends on undeclared files. */
  readonly isStored: boolean;
  /** A check of the first result (`--check-hits`) made the second: `different` is a stale hit. */
  readonly checked?: 'different' | 'unstable';
  readonly whatToDo: string;
}

// ── Storage and trust ────────────────────────────────────────────────────────────────────────────────────

export interface AccountRow {
  readonly name: string;
  readonly bytes: number;
  readonly quotaBytes?: number;
  readonly floorBytes?: number;
}

export interface Storage {
  /** Absent without the right `server:stats`. */
  readonly store?: {
    readonly usedBytes: number;
    readonly limitBytes?: number;
    /** Since the start of this process. */
    readonly evictedBytes: number;
    /** How long what was evicted last had not been used. Absent if nothing was evicted, or if it is not known. */
    readonly evictedUnusedMs?: number;
  };
  /** Namespaces with a quota or a floor that the token sees whole. */
  readonly accounts: readonly AccountRow[];
  /** When the counts below were made; they take a walk through the store. */
  readonly countedAt?: string;
  /** The largest first. */
  readonly teams: readonly UsageRow[];
  readonly tools: readonly UsageRow[];
  readonly namespaces: readonly NamespaceRow[];
  /** Newest first. */
  readonly deniedWrites: readonly DeniedWrite[];
  /** The next to end first. */
  readonly tokens: readonly TokenRow[];
  /** Empty if there is one node. */
  readonly nodes: readonly NodeRow[];
}

export interface UsageRow {
  readonly name: string;
  readonly results: number;
  /** Of its results and of the blobs that they name; a shared blob counts for each. */
  readonly bytes: number;
}

export interface NamespaceRow {
  /** Of pull requests: PARENT/pr/…, which adds them up. */
  readonly namespace: string;
  /** How many namespaces that are. Absent for any other one. */
  readonly grouped?: number;
  readonly results: number;
  /** Names of tokens, the busiest first, at most 10. */
  readonly writers: readonly string[];
  readonly lastWriteAt?: string;
}

export interface DeniedWrite {
  readonly at: string;
  readonly identity: string;
  readonly tool: string;
  readonly why: string;
}

export interface TokenRow {
  readonly name: string;
  readonly namespace: string;
  readonly rights: readonly string[];
  readonly expiresAt?: string;
  readonly expiresSoon: boolean;
}

export interface NodeRow {
  readonly name: string;
  readonly lastSeenAt: string;
  readonly isThisOne: boolean;
}

// ── Set up ───────────────────────────────────────────────────────────────────────────────────────────────

export interface Setup {
  /** As the request addressed it. */
  readonly address: string;
  readonly needsToken: boolean;
  readonly tools: readonly ToolSetup[];
}

export interface ToolSetup {
  /** "Bazel, gRPC" */
  readonly name: string;
  /** What to write, with this server's address. */
  readonly snippet: string;
  /** The light is green if it is there. */
  readonly lastRequestAt?: string;
  /** Its requests can't be told from those of this other tool, so it has no light of its own. */
  readonly countsAs?: string;
  readonly lookupsToday: number;
}
