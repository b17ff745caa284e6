// `assay init`: writes a first assay.json by running scripts, Makefile targets or usual commands under a
// tracer.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { STORE_FLAGS } from '../../client/commands/store-flags.ts';
import { replaceUnchanged } from '../../client/config/edit.ts';
import { type Package, readPackages } from '../../client/config/packages.ts';
import {
  configFileOf,
  qualifiedStepId,
  resolveStep,
  type Step,
  variableRemarks,
} from '../../client/config/step.ts';
import { workspaceWith } from '../../client/config/workspace.ts';
import { currentFolder } from '../../client/files/current-folder.ts';
import { StatRecorder } from '../../client/files/stat-recorder.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { onSignal } from '../../client/process/launch.ts';
import { openCache } from '../../client/run/caches.ts';
import type { RunContext } from '../../client/run/context.ts';
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import type { RelPath } from '../../core/path.ts';
import { acceptedDrafts, refusal, withRemark } from './accepted-drafts.ts';
import { type CandidateStep, candidateSteps } from './candidates.ts';
import { type DraftStep, draftTexts, SCHEMA } from './draft.ts';
import { INIT } from './limits.ts';
import { type LackingStep, missingProgramLines } from './missing-programs.ts';
import { NOTHING_SEEN, type ObservationContext, observeStep } from './observed-step.ts';
import { QuietCommand } from './quiet-command.ts';

const flags = {
  store: STORE_FLAGS.store,
  agents: {
    type: 'boolean',
    text: 'run nothing; write a section for coding agents into AGENTS.md: the commands with short answers, what a hit is worth, and `assay mcp`. What else stands there stays',
  },
} satisfies FlagTable;

export const initCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay init [FLAGS] [NAME …]\n       assay init --agents',
    text: [
      'Writes a first assay.json. It runs each NAME under a tracer and declares what it read, wrote and used. A',
      'NAME is a script of package.json or a target of the Makefile. Without a NAME it runs those with usual',
      'names, such as build and test. Without scripts or a Makefile it takes the usual commands of a Go, Rust,',
      'Gradle or Python project.',
      '',
      'In a workspace of npm, pnpm or yarn it writes one file for each package, dependencies first. What holds',
      'for all packages, also for new ones, is written to the root’s file. Where it is not sure, it says so and',
      'writes a comment beside the step. A command that fails is left out, with its reason. A signal ends init,',
      'and nothing is written.',
      '',
      'Run again, it adds the steps that assay.json lacks, and keeps all others. It writes a step anew if you',
      'name it.',
      '',
      'WARNING: the commands really run. Do not name one that deploys.',
    ].join('\n'),
    flags,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: {
      '0': 'written',
      '2': 'there is no step to try, every command failed, or no tracer works; nothing was written',
      '130': 'a signal ended it; nothing was written',
    },
    examples: ['assay init', 'assay init build test', 'assay init --agents'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const root = currentFolder();
    if (parsed.given('agents')) return writeForAgents(root, parsed.positionals);
    const packages = await readPackages(new StatRecorder(root));
    const existing = existingTexts(root, packages);
    const names = parsed.positionals;
    const candidates = candidateSteps(root, packages, names).filter(
      (step) => names.includes(step.name) || !isWritten(step, packages[0]),
    );
    if (candidates.length === 0)
      throw usage('assay.json has all of these steps already; name those to write anew: assay init NAME');
    const folders = packages.map(({ folder }) => folder);
    const made = await outputsOfOthers(root, candidates);
    const store = storeFolder(parsed.text('store'), process.env);
    const [stdout, stderr] = [new SyncStream(1), new SyncStream(2)];
    const cache = openCache({ storeFolder: store, workspace: root, now: Date.now, report() {} });
    const stop = new AbortController();
    // The command gets SIGTERM for each of them: a shell that alone gets SIGINT waits for its program.
    const context = {
      cache,
      caller: process.env,
      stdout,
      stderr,
      report() {},
      now: Date.now,
      signal: stop.signal,
    };
    const release = onSignal((signal) =>
      stop.abort(new AssayError('ASSAY_INTERRUPTED', `by ${signal}; nothing was written`)),
    );
    try {
      const { drafts: observed, failed } = await observeAll(candidates, { root, folders, made }, context);
      printFailed(failed, root, packages[0]);
      if (observed.length === 0) throw usage('no command ended well; nothing was written');
      const leftOut = new Set(failed.map(({ name }) => name));
      const options = { root, hasSchema: existsSync(join(root, SCHEMA)), existing, leftOut, context };
      const drafts = await acceptedDrafts(observed, options);
      const why = await refusal(drafts, options);
      if (why !== undefined) throw usage(`no valid configuration follows from what was seen: ${why}`);
      const texts = draftTexts(drafts, options);
      await yieldTo(stop.signal);
      for (const [file, text] of texts) writeConfig(join(root, file), existing.get(file), text);
      printReport([...texts.keys()], drafts);
      return 0;
    } finally {
      release();
      await cache.close();
    }
  },
};

/** Loaded late: it needs nothing of what follows. */
async function writeForAgents(root: string, names: readonly string[]): Promise<number> {
  if (names.length > 0) throw usage('--agents runs nothing, so it takes no NAME');
  const { AGENTS_FILE, writeAgentsSection } = await import('./agents-section.ts');
  const written = writeAgentsSection(root);
  const print = (line: string) => new SyncStream(2).write(`assay: ${line}\n`);
  print(`${AGENTS_FILE}: ${written === 'added' ? 'added a section' : written}`);
  if (!existsSync(join(root, 'assay.json'))) print('there is no assay.json here: next, assay init');
  return 0;
}

/** Lets a signal that came during a long computation be heard. */
async function yieldTo(signal: AbortSignal | undefined): Promise<void> {
  await setImmediate();
  signal?.throwIfAborted();
}

function existingTexts(root: string, packages: readonly Package[]): Map<RelPath, string> {
  const files = packages.map(({ folder }) => configFileOf(folder));
  return new Map(
    files
      .filter((file) => existsSync(join(root, file)))
      .map((file) => [file, readFileSync(join(root, file), 'utf8')]),
  );
}

/** What init itself writes to `packageSteps` has no inputs; a person's declaration with inputs holds. */
function isWritten({ owner, name }: CandidateStep, rootPackage: Package): boolean {
  const shared = owner === rootPackage ? undefined : rootPackage.file.packageSteps.get(name);
  return owner.file.steps.has(name) || shared?.fields.inputs !== undefined;
}

/** The outputs of the steps that stay as they are. */
async function outputsOfOthers(root: string, candidates: readonly CandidateStep[]): Promise<RelPath[]> {
  const redone = new Set(candidates.map(({ owner, name }) => qualifiedStepId(owner.name, name)));
  const { steps } = await workspaceWith(root, new Map());
  return [...steps.values()].flatMap(({ id, outputs }) => (redone.has(id) ? [] : outputs));
}

function writeConfig(file: string, before: string | undefined, text: string): void {
  if (before === undefined) writeFileSync(file, text, { flag: 'wx' });
  else replaceUnchanged(file, before, text);
}

function printReport(files: readonly RelPath[], drafts: readonly DraftStep[]): void {
  const print = (line: string) => new SyncStream(2).write(`assay: ${line}\n`);
  for (const file of files) {
    const own = drafts.filter(({ owner }) => configFileOf(owner.folder) === file).map(({ name }) => name);
    print(`wrote ${file}${own.length > 0 ? ` with ${own.join(', ')}` : ''}`);
  }
  for (const { owner, name, observed } of drafts) {
    for (const remark of observed.unsure)
      print(`not sure of ${qualifiedStepId(owner.name, name)}: ${remark}`);
  }
  print('not sure of variables: a tracer cannot see which ones a command uses; name those in "env"');
  print(`next: assay run ${[...new Set(drafts.map(({ name }) => name))].join(' ')}`);
}

/** A command that failed shows too little to declare it. */
interface FailedStep {
  readonly id: string;
  readonly name: string;
  readonly exitCode: number;
  /** It did not find a program. */
  readonly missing?: LackingStep;
  /** It was not run, because this step failed, which it needs. */
  readonly lacks?: string;
}

interface Observations {
  readonly drafts: readonly DraftStep[];
  readonly failed: readonly FailedStep[];
}

function printFailed(failed: readonly FailedStep[], root: string, rootPackage: Package): void {
  const print = (line: string) => new SyncStream(2).write(`assay: ${line}\n`);
  const lacking = failed.flatMap(({ missing }) => missing ?? []);
  for (const line of missingProgramLines(lacking, root, rootPackage)) print(line);
  for (const { id, exitCode, missing, lacks } of failed)
    if (lacks !== undefined) print(`left out ${id}: it needs ${lacks}, which was left out`);
    else if (!missing) print(`left out ${id}: it ended with ${exitCode}. Add it when it works`);
}

async function observeAll(
  candidates: readonly CandidateStep[],
  surroundings: ObservationContext,
  context: RunContext,
): Promise<Observations> {
  const drafts: DraftStep[] = [];
  const failed: FailedStep[] = [];
  for (const candidate of candidates) {
    const { owner, name, needs } = candidate;
    const id = qualifiedStepId(owner.name, name);
    const lacks = failed.find((one) => needs.some((need) => one.id === qualifiedStepId(owner.name, need)));
    if (lacks) {
      failed.push({ id, name, exitCode: 0, lacks: lacks.id });
      continue;
    }
    const made = [...surroundings.made, ...drafts.flatMap((draft) => draft.observed.outputs)];
    const found = await draftOf(id, candidate, { ...surroundings, made }, context);
    await yieldTo(context.signal);
    if ('observed' in found) drafts.push(found);
    else failed.push(found);
  }
  return { drafts, failed };
}

async function draftOf(
  id: string,
  candidate: CandidateStep,
  surroundings: ObservationContext,
  context: RunContext,
): Promise<DraftStep | FailedStep> {
  const { owner, name, command, isScript, env, needs, isChain } = candidate;
  if (isChain) return { owner, name, env, needs, command: 'true', observed: NOTHING_SEEN };
  const draft = { owner, name, env, needs, ...(!isScript && { command }) };
  context.stderr.write(`assay: observing ${id}\n`);
  using quiet = new QuietCommand(INIT.quietMs, () => context.stderr.write(`assay: ${id} ${QUIET}\n`));
  const [stdout, stderr] = [quiet.listened(context.stdout), quiet.listened(context.stderr)];
  let missing: LackingStep | undefined;
  const report: RunContext['report'] = (event) => {
    if (event.type === 'program-missing') missing ??= { id, owner, program: event.name, yours: event.yours };
  };
  try {
    const observed = await observeStep(stepOf(candidate), surroundings, {
      ...context,
      stdout,
      stderr,
      report,
    });
    const { exitCode } = observed;
    if (exitCode === NOT_FOUND) missing ??= { id, owner, program: undefined };
    if (exitCode !== 0) return { id, name, exitCode, ...(missing && { missing }) };
    const remarks = isScript ? variableRemarks(name, owner.scripts) : [];
    return remarks.reduce(withRemark, { ...draft, observed });
  } catch (error) {
    if (!(error instanceof AssayError && error.code === 'ASSAY_COMMAND_NOT_FOUND')) throw error;
    return {
      id,
      name,
      exitCode: NOT_FOUND,
      missing: { id, owner, program: typeof command === 'string' ? undefined : command[0] },
    };
  }
}

const QUIET = `has printed nothing for ${INIT.quietMs / 1000} s. If it waits for changes, end init by Ctrl-C and name the other steps`;

/** The exit code of a shell that did not find a program. */
const NOT_FOUND = 127;

/** The step with only its command declared. */
function stepOf({ owner, name, command, env }: CandidateStep): Step {
  const refuse = (why: string) => usage(why);
  const locate = (text: string) => ({ text, refuse });
  const step = resolveStep({
    owner,
    name,
    fields: {
      command: typeof command === 'string' ? locate(command) : command.map(locate),
      inputs: [],
      env: env.map(locate),
    },
    defaults: [],
    source: { file: configFileOf(owner.folder), path: ['steps', name] },
  });
  if (!step) throw usage(`${name} has no command`);
  return step;
}
