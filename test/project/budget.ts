// The budget of hand-written product lines, by room and wing, in hundreds of lines. budget.test.ts holds that a room has
// no more, and that the number is lowered when the room shrinks.
//
// To raise a budget, append the hundreds that come, and why, to the row of the room. First look for what the new lines
// make needless.

/** Hundreds of lines that came later, and why. */
export type Raise = readonly [hundreds: number, why: string];

export const BUDGET: Readonly<Record<string, readonly [hundreds: number, ...raises: Raise[]]>> = {
  core: [
    35,
    [2, 'action leases and their fences, as client and server name them'],
    [1, 'canonical JSON, by which protocols and memoised calls name content'],
    [1, 'the schema of a report, which the dashboard had, and JSON Schema with types'],
    [1, 'tries of a command in receipts and reports'],
  ],
  system: [11],
  store: [
    111,
    [2, 'the words for misses, which were in the client and the dashboard'],
    [5, 'action leases and fences, in the port of engines and in two of them'],
  ],
  hermeticity: [
    89,
    [2, 'slots for commands that all runs of a user share: locks of a file, which neither Node nor Bun has'],
    [5, 'threads of the tracer, their lock and cores, and how a process is parked between two of them'],
  ],
  client: [
    296,
    [1, 'restored steps are checked at the end of a run and recorded'],
    [1, 'the configuration is read again when a command changed its folders'],
    [1, 'a lookup trusts results of a bundle as those of a server'],
    [5, 'action leases: who asks, a wait without a job slot, and what a run tells of it'],
    [5, 'answers of less than 2 KiB, with the first lines of a failure'],
    [2, 'the port by which wings add functions to the library'],
    [2, 'failures that one machine keeps for a day'],
    [2, '`--filter`: packages by the graph'],
    [4, 'commands that run again, and what their tries read'],
    [3, 'the job slots that all runs of a user share, and how a run tells its wait for one'],
    [1, 'installed software that somebody links while a command runs'],
    [1, 'folders that stand for the absent paths that a command looked for'],
  ],
  server: [
    146,
    [3, 'the table of tools, which was in the dashboard, and other lists of them'],
    [1, 'which lease decides whether a label may be written'],
  ],
  bin: [5],
  'wings/agents': [
    4,
    [7, 'memoised calls of functions'],
    [5, '`assay mcp`: the tools of Assay for coding agents'],
  ],
  'wings/backup': [5],
  'wings/bazel-worker': [7],
  'wings/bundles': [28, [6, 'bundles from and to servers, and reports for bugs']],
  'wings/check-hits': [6],
  'wings/dashboard': [96, [1, 'what became of action leases, in figures and on the page Now']],
  'wings/doctor': [7],
  'wings/fleet': [99, [2, 'action leases and fences in PostgreSQL']],
  'wings/gocache': [8],
  'wings/incident': [7],
  'wings/init': [16],
  'wings/leases': [
    8,
    [9, 'a run that asks for a lease, waits, holds one'],
    [2, 'patience with a busy server'],
    [1, 'waits that go on while a server is full or away, and releases that are sent again'],
  ],
  'wings/manual': [6, [1, '`assay help`: pages on the command line']],
  'wings/mise': [9],
  'wings/oidc': [16],
  'wings/prune': [8],
  'wings/reproduce': [31],
  'wings/snapshots': [
    15,
    [7, '`assay checkpoint list`, `show`, `restore`, `drop`: what is stored of unfinished steps'],
    [1, 'points of a workspace, for programs'],
  ],
  'wings/verify-release': [2],
  'wings/vite-plus': [5],
};

/**
 * The folders of client/ and server/ with more files at one level than others may have. A number only falls, and a folder
 * that no longer exceeds leaves the list.
 */
export const CROWDED: Readonly<Record<string, number>> = {
  'client/action': 13,
  'client/audit': 17,
  'client/commands': 16,
  'client/config': 14,
  'client/files': 13,
  'client/graph': 23,
  'client/outputs': 17,
  'client/path-sets': 25,
  'client/remote': 18,
  'client/run': 25,
  'server/http': 13,
  'server/protocols/reapi': 25,
  'server/protocols/shared': 16,
};
