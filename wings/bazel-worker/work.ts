// Runs one Bazel request as an Assay action, with the inputs that Bazel already knows. Collects the tool's
// output for the response. A request that cannot be cached still runs.

import { checkText, type Variables } from '../../client/action/environment.ts';
import type { ActionOptions } from '../../client/action/fields.ts';
import { programFoldersOf } from '../../client/action/program-folders.ts';
import { type DeclaredVariable, REQUEST_DEFAULTS, type RunRequest } from '../../client/action/request.ts';
import type { InputSource } from '../../client/inputs/inputs.ts';
import type { Cache } from '../../client/run/caches.ts';
import { execute } from '../../client/run/execute.ts';
import { keyAction } from '../../client/run/key.ts';
import { type RunSummary, run } from '../../client/run/run.ts';
import type { Report } from '../../client/terminal/events.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { isWithin, ROOT } from '../../core/path.ts';
import { bazelInputs, NO_INPUTS, type SentInputs } from './bazel-inputs.ts';
import { OutputBuffer } from './output-buffer.ts';
import { absentPaths, isThere, namedOutputs } from './outputs.ts';

export interface WorkerOptions {
  readonly workspace: string;
  /** The tool and its fixed arguments. */
  readonly command: readonly [string, ...string[]];
  readonly outputFlags: readonly string[];
  readonly variables: readonly DeclaredVariable[];
  readonly tools: readonly string[];
  readonly options: Partial<ActionOptions>;
  readonly cache: Cache;
  readonly caller: Variables;
  readonly report: Report;
  readonly now: () => number;
}

export interface WorkResult {
  readonly exitCode: number;
  /** The tool's output, both streams, in order. */
  readonly output: Buffer;
  readonly summary?: RunSummary;
  /** Why the local store does not have the result, if so. */
  readonly notPublished?: string | undefined;
  /** Why the request was neither looked up nor published, if so. */
  readonly uncached?: string;
}

export async function work(
  sent: readonly string[],
  inputs: SentInputs,
  worker: WorkerOptions,
  signal?: AbortSignal,
): Promise<WorkResult> {
  worker.cache.tools.forget(); // a worker lives for hours, and tools may change
  const output = new OutputBuffer();
  let notPublished: string | undefined;
  const report: Report = (event) => {
    if (event.type === 'not-published') notPublished = event.why;
    else worker.report(event);
  };
  const context = { ...worker, report, stdout: output, stderr: output, signal };
  const request = requestOf(sent, worker);
  const source = sourceOf(inputs, request, worker);
  if (typeof source !== 'string') {
    const cache = { ...worker.cache, inputs: guardingOutputs(source, request) };
    const summary = await run(request, { ...context, cache });
    return { exitCode: summary.exitCode, output: output.bytes(), summary, notPublished };
  }
  const nothing = bazelInputs(NO_INPUTS, worker.workspace, worker.cache.digests);
  const unwatched = { ...request, hermetic: 'off' } as const;
  const action = keyAction(unwatched, { ...context, cache: { ...worker.cache, inputs: nothing } });
  const { exitCode } = await execute(action, context);
  return { exitCode, output: output.bytes(), uncached: source };
}

function requestOf(sent: readonly string[], worker: WorkerOptions): RunRequest {
  const { workspace, command, variables, tools, options } = worker;
  const { args, outputs } = namedOutputs(sent, worker.outputFlags);
  return {
    ...REQUEST_DEFAULTS,
    ...options,
    workspace,
    workingDirectory: ROOT,
    command: [...command, ...args],
    inputs: [],
    includeIgnored: true,
    outputs,
    variables,
    tools,
    programFolders: programFoldersOf(workspace, ROOT, outputs),
    layout: 'bazel',
  };
}

/** The inputs, or why this request has no key. */
function sourceOf(inputs: SentInputs, request: RunRequest, { cache }: WorkerOptions): InputSource | string {
  if (request.outputs.length === 0) return 'it names no output; see --output-flag';
  if (Object.keys(inputs).length === 0) return 'it came without inputs';
  try {
    for (const arg of request.command) checkText('an argument', arg);
    return bazelInputs(inputs, request.workspace, cache.digests);
  } catch (error) {
    return error instanceof AssayError ? error.detail : messageOf(error);
  }
}

/** Adds a check to the inputs: publish only if the outputs include every file that the arguments made. */
function guardingOutputs(source: InputSource, { command, outputs, workspace }: RunRequest): InputSource {
  const absent = absentPaths(command, workspace).filter(
    (path) => !outputs.some((output) => isWithin(path, output)),
  );
  return {
    read: (request) => source.read(request),
    changeSince(inputs, request) {
      const made = absent.find((path) => isThere(path, workspace));
      if (made !== undefined) return `it created ${made}, which no --output-flag names`;
      return source.changeSince(inputs, request);
    },
  };
}
