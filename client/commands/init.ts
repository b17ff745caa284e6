// `assay init`: a first assay.json, from scripts or a Makefile, by watching what they do.
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandModule, parseFlags, usage } from '../../core/command.ts';
import { type RelPath, ROOT } from '../../core/path.ts';
import { openCache } from '../cache.ts';
import { readPackages } from '../config/packages.ts';
import { configFileOf, resolveStep, type Step, stepId } from '../config/step.ts';
import { type CandidateStep, candidateSteps } from '../init/candidates.ts';
import { type DraftStep, draftText } from '../init/draft.ts';
import { observeStep, type Surroundings } from '../init/observed-step.ts';
import { Observations } from '../inputs/observations.ts';
import { Outlet } from '../outlet.ts';
import { storeFolder } from '../store-folder.ts';
import { STORE_FLAGS } from './store-flags.ts';

const flags = { store: STORE_FLAGS.store };

export const initCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay init [FLAGS] [NAME …]',
    text: [
      'Writes a first assay.json: runs each NAME (a script of package.json or a target of the Makefile; without one those',
      'with usual names, such as build and test) under a tracer, and declares what it was seen to read, make and use.',
      'In a workspace of npm, pnpm or yarn it does so for each package, in a file of its own, those first that others need.',
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
    const packages = await readPackages(new Observations(root));
    for (const { folder } of packages) refuseIfThere(root, folder);
    const candidates = candidateSteps(root, packages, parsed.positionals);
    const folders = packages.map(({ folder }) => folder);
    const store = storeFolder(parsed.text('store'), process.env);
    const drafts = await observeAll(candidates, { root, folders, made: [] }, store);
    const written = folders.filter(
      (folder) => folder === ROOT || drafts.some(({ owner }) => owner.folder === folder),
    );
    for (const folder of written) {
      writeFileSync(join(root, configFileOf(folder)), draftText(folder, drafts), { flag: 'wx' });
    }
    tell(written, drafts);
    return 0;
  },
};

function refuseIfThere(root: string, folder: RelPath): void {
  const file = configFileOf(folder);
  if (existsSync(join(root, file))) throw usage(`${file} is there already; remove it, or edit it`);
}

function tell(folders: readonly RelPath[], drafts: readonly DraftStep[]): void {
  const say = (line: string) => new Outlet(2).write(`assay: ${line}\n`);
  for (const folder of folders) {
    const own = drafts.filter(({ owner }) => owner.folder === folder).map(({ name }) => name);
    say(`wrote ${configFileOf(folder)}${own.length > 0 ? ` with ${own.join(', ')}` : ''}`);
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
  surroundings: Surroundings,
  store: string,
): Promise<DraftStep[]> {
  const [stdout, stderr] = [new Outlet(1), new Outlet(2)];
  const { root } = surroundings;
  const cache = openCache({ storeFolder: store, workspace: root, now: Date.now, report() {} });
  try {
    const drafts: DraftStep[] = [];
    for (const candidate of candidates) {
      const { owner, name, command } = candidate;
      stderr.write(`assay: watching ${stepId(owner.name, name)}\n`);
      const context = { cache, caller: process.env, stdout, stderr, report() {}, now: Date.now };
      const made = drafts.flatMap((draft) => draft.observed.outputs);
      const observed = await observeStep(stepOf(candidate), { ...surroundings, made }, context);
      drafts.push({ owner, name, observed, ...(typeof command !== 'string' && { command }) });
    }
    return drafts;
  } finally {
    await cache.close();
  }
}

/** With nothing declared but its command. */
function stepOf({ owner, name, command }: CandidateStep): Step {
  const refuse = (why: string) => usage(why);
  const locate = (text: string) => ({ text, refuse });
  const step = resolveStep({
    owner,
    name,
    fields: {
      command: typeof command === 'string' ? locate(command) : command.map(locate),
      inputs: [],
    },
    defaults: [],
    source: { file: configFileOf(owner.folder), path: ['steps', name] },
  });
  if (!step) throw usage(`${name} has no command`);
  return step;
}
