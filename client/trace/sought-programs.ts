// The programs that a command sought on its PATH: one that it did not find, and a runtime that is not the caller's.
// They explain a run to a person. What a hit compares does not depend on them.
import { basename, delimiter } from 'node:path';
import type { TraceReport } from '../../hermeticity/trace/access.ts';
import { programPlaces, toolPathOf } from '../action/program-folders.ts';
import type { RunRequest } from '../action/request.ts';
import { realPathOf } from '../files/real-path.ts';
import type { Log } from '../process/log.ts';
import type { RunEvent } from '../terminal/events.ts';
import { locateOnPath } from '../tools/tools.ts';
import type { Watched } from './trace.ts';

interface Sought {
  readonly request: RunRequest;
  readonly caller: Readonly<Record<string, string | undefined>>;
  /** PATH as the command had it, and the folder in it with the declared tools, if there is one. */
  readonly path: string;
  readonly bin: string | undefined;
}

type MissingProgram = RunEvent & { type: 'program-missing' };
type OtherRuntime = RunEvent & { type: 'other-runtime' };

/** How shells and others say that a program was not found. */
const NOT_FOUND: readonly RegExp[] = [
  /(?:^|\s)([\w.@+-]+): (?:command )?not found$/gm,
  /command not found: ([\w.@+-]+)$/gm,
  /\bspawn ([\w.@+-]+) ENOENT\b/g,
  /^(?:\/usr\/bin\/)?(?:env|make|xargs|nice|nohup|timeout)(?:\[\d+\])?: (?:failed to run command )?[‘'"]?([\w.@+-]+)[’'"]?: No such file/gm,
  /\bexec: "([\w.@+-]+)": executable file not found/g,
  /\bCannot run program "([\w.@+-]+)"/g,
  // Node, Python and Ruby say the same of files, so the program must be missing too.
  /No such file or directory(?:: '| - )([\w.@+-]+)/g,
];

/** At its end, where a command says why it failed. */
const LAST_BYTES = 1 << 16;

/** A program that a failed command said it did not find, and that its PATH does not have. */
export function missingProgram(sought: Sought, log: Log, watched?: Watched): MissingProgram | undefined {
  const { request, caller, path } = sought;
  const callers = toolPathOf(request, caller);
  const wasSought = soughtNames(watched?.report);
  for (const [at, pattern] of NOT_FOUND.entries())
    for (const name of namesIn(log, pattern)) {
      const isSure = at < NOT_FOUND.length - 1;
      if (!isSure && !wasSought.has(name)) continue;
      if (!request.sandbox && locateOnPath(name, path) !== undefined) continue;
      const yours = locateOnPath(name, callers);
      return {
        type: 'program-missing',
        name,
        path: shownPath(sought),
        hasPackage: request.programFolders.length > 0,
        ...(yours !== undefined && { yours }),
      };
    }
  return undefined;
}

function namesIn({ stdout, stderr }: Log, pattern: RegExp): string[] {
  return [stderr, stdout].flatMap((said) => {
    const text = Buffer.from(said.subarray(-LAST_BYTES)).toString('utf8');
    return [...text.matchAll(pattern)].map(([, name = '']) => name);
  });
}

/** Names that were looked for in a folder of programs, and were not there. */
function soughtNames(report: TraceReport | undefined): ReadonlySet<string> {
  return new Set(
    report?.accesses.flatMap((access) => {
      const [, name] = access.kind === 'absent' ? (/^\/usr\/bin\/([^/]+)$/.exec(access.path) ?? []) : [];
      return name === undefined ? [] : [name];
    }),
  );
}

/** With the workspace's folders by their short names. */
function shownPath({ request, path, bin }: Sought): string {
  const own = new Map(programPlaces(request).map((place, at) => [place, request.programFolders[at]]));
  return path
    .split(delimiter)
    .map((entry) => (entry === bin ? '(declared tools)' : (own.get(entry) ?? entry)))
    .join(delimiter);
}

/** Programs whose version people choose by their PATH. */
const RUNTIMES: ReadonlySet<string> = new Set(
  'node npm npx pnpm pnpx yarn corepack bun deno python python3 pip pip3 ruby gem bundle java go'.split(' '),
);

/**
 * A runtime that the command found in a system folder, while the caller's PATH leads to another one: a program that
 * nobody declared started it by its name.
 */
export function otherRuntime({ request, caller }: Sought, watched: Watched): OtherRuntime | undefined {
  if (watched.where === 'sandbox') return undefined;
  const { accesses, processes } = watched.report;
  const callers = toolPathOf(request, caller);
  const named = new Set(processes.map(({ argv: [word = ''] }) => word).filter((word) => RUNTIMES.has(word)));
  if (named.size === 0) return undefined;
  for (const access of accesses) {
    if (access.kind !== 'exec') continue;
    const ran = access.asked ?? access.path;
    const name = basename(ran);
    if (!named.has(name) || !SYSTEM.test(ran)) continue;
    const yours = locateOnPath(name, callers);
    if (yours !== undefined && realPathOf(yours) !== realPathOf(access.path))
      return { type: 'other-runtime', name, ran, yours };
  }
  return undefined;
}

/** The folders of the fixed PATH, by their names and by their real names. */
const SYSTEM = /^\/(?:usr\/(?:local\/)?)?s?bin\/[^/]+$/;
