// `assay init`: a first assay.json, from scripts, a Makefile or a build tool's usual commands, by watching what they do.
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandModule, parseFlags, usage } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import type { RelPath } from '../../core/path.ts';
import { acceptedDrafts, refusal, withRemark } from '../config/init/accepted-drafts.ts';
import { type CandidateStep, candidateSteps } from '../config/init/candidates.ts';
import { type DraftStep, draftTexts, SCHEMA } from '../config/init/draft.ts';
import { NOTHING_SEEN, type ObservationContext, observeStep } from '../config/init/observed-step.ts';
import { readPackages } from '../config/packages.ts';
import { configFileOf, resolveStep, type Step, scriptRemarks, stepId } from '../config/step.ts';
import { StatRecorder } from '../files/stat-recorder.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { openCache } from '../run/caches.ts';
import type { RunContext } from '../run/context.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { STORE_FLAGS } from './store-flags.ts';

const flags = { store: STORE_FLAGS.store };

export const initCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay init [FLAGS] [NAME …]',
    text: [
      'Writes a first assay.json: runs each NAME (a script of package.json or a target of the Makefile; without one those',
      'with usual names, such as build and test) under a tracer, and declares what it was seen to read, make and use.',
      'Where there is neither, it takes what people usually run in a project of Go, Rust, Gradle or Python.',
      'In a workspace of npm, pnpm or yarn it does so for each package, in a file of its own, those first that others need;',
      'what holds for all of them, and for a package that is added later, stands in the root’s file.',
      'Says, and writes beside the step, what it is not sure of. They run for real, so name none that deploys.',
    ].join('\n'),
    flags,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: {
      '0': 'written',
      '2': 'there is one already, nothing to write it from, or no tracer; nothing was written',
    },
    examples: ['assay init', 'assay init build test'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const root = realpathSync(process.cwd());
    const packages = await readPackages(new StatRecorder(root));
    for (const { folder } of packages) refuseIfThere(root, folder);
    const candidates = candidateSteps(root, packages, parsed.positionals);
    const folders = packages.map(({ folder }) => folder);
    const store = storeFolder(parsed.text('store'), process.env);
    const [stdout, stderr] = [new SyncStream(1), new SyncStream(2)];
    const cache = openCache({ storeFolder: store, workspace: root, now: Date.now, report() {} });
    const context = { cache, caller: process.env, stdout, stderr, report() {}, now: Date.now };
    try {
      const watched = await observeAll(candidates, { root, folders, made: [] }, context);
      const options = { root, hasSchema: existsSync(join(root, SCHEMA)), context };
      const drafts = await acceptedDrafts(watched, options);
      const why = await refusal(drafts, options);
      if (why !== undefined) throw usage(`what was seen makes no configuration that runs: ${why}`);
      const texts = draftTexts(drafts, options.hasSchema);
      for (const [file, text] of texts) writeFileSync(join(root, file), text, { flag: 'wx' });
      tell([...texts.keys()], drafts);
      return 0;
    } finally {
      await cache.close();
    }
  },
};

function refuseIfThere(root: string, folder: RelPath): void {
  const file = configFileOf(folder);
  if (existsSync(join(root, file))) throw usage(`${file} is there already; remove it, or edit it`);
}

function tell(files: readonly RelPath[], drafts: readonly DraftStep[]): void {
  const say = (line: string) => new SyncStream(2).write(`assay: ${line}\n`);
  for (const file of files) {
    const own = drafts.filter(({ owner }) => configFileOf(owner.folder) === file).map(({ name }) => name);
    say(`wrote ${file}${own.length > 0 ? ` with ${own.join(', ')}` : ''}`);
  }
  for (const { owner, name, observed } of drafts) {
    for (const remark of observed.unsure) say(`not sure of ${stepId(owner.name, name)}: ${remark}`);
  }
  say(
    'not sure of variables: which ones a command looks at can’t be seen; name those that a step needs in its "env"',
  );
  say(`next: assay run ${[...new Set(drafts.map(({ name }) => name))].join(' ')}`);
}

async function observeAll(
  candidates: readonly CandidateStep[],
  surroundings: ObservationContext,
  context: RunContext,
): Promise<DraftStep[]> {
  const drafts: DraftStep[] = [];
  for (const candidate of candidates) {
    context.stderr.write(`assay: watching ${stepId(candidate.owner.name, candidate.name)}\n`);
    const made = drafts.flatMap((draft) => draft.observed.outputs);
    drafts.push(await draftOf(candidate, { ...surroundings, made }, context));
  }
  return drafts;
}

/** A program that is not here can't be watched: the step is proposed all the same. */
async function draftOf(
  candidate: CandidateStep,
  surroundings: ObservationContext,
  context: RunContext,
): Promise<DraftStep> {
  const { owner, name, command, isScript, env } = candidate;
  const draft = { owner, name, env, ...(!isScript && { command }) };
  try {
    const observed = await observeStep(stepOf(candidate), surroundings, context);
    const remarks = isScript ? scriptRemarks(name, owner.scripts) : [];
    return remarks.reduce(withRemark, { ...draft, observed });
  } catch (error) {
    if (!(error instanceof AssayError && error.code === 'ASSAY_COMMAND_NOT_FOUND')) throw error;
    const remark = `it was not watched, so it runs each time: ${error.detail}`;
    return withRemark({ ...draft, observed: NOTHING_SEEN, isPlain: true }, remark);
  }
}

/** With nothing declared but its command. */
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
