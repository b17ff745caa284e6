// `assay init`: a first assay.json, from scripts or a Makefile, by watching what they do.
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandModule, parseFlags, usage } from '../../core/command.ts';
import { ROOT } from '../../core/path.ts';
import { openCache } from '../cache.ts';
import { CONFIG_FILE } from '../config/roots.ts';
import { configFileOf, resolveStep, type Step } from '../config/step.ts';
import { type CandidateStep, candidateSteps } from '../init/candidates.ts';
import { type DraftStep, draftText } from '../init/draft.ts';
import { observeStep } from '../init/observed-step.ts';
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
      'Says, and writes beside the step, what it is not sure of. They run for real, so name none that deploys.',
    ].join('\n'),
    flags,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    examples: ['assay init', 'assay init build test'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const root = realpathSync(process.cwd());
    const file = join(root, CONFIG_FILE);
    if (existsSync(file)) throw usage(`there is an ${CONFIG_FILE} already; remove it, or edit it`);
    const candidates = candidateSteps(root, parsed.positionals);
    const drafts = await observeAll(candidates, root, storeFolder(parsed.text('store'), process.env));
    writeFileSync(file, draftText(drafts), { flag: 'wx' });
    const unsure = drafts.flatMap(({ name, observed }) =>
      observed.unsure.map((remark) => `${name}: ${remark}`),
    );
    const say = (line: string) => new Outlet(2).write(`assay: ${line}\n`);
    say(`wrote ${CONFIG_FILE} with ${drafts.map(({ name }) => name).join(', ')}`);
    for (const remark of unsure) say(`not sure of ${remark}`);
    say(`next: assay run ${drafts.map(({ name }) => name).join(' ')}`);
    return 0;
  },
};

async function observeAll(
  candidates: readonly CandidateStep[],
  root: string,
  store: string,
): Promise<DraftStep[]> {
  const [stdout, stderr] = [new Outlet(1), new Outlet(2)];
  const cache = openCache({ storeFolder: store, workspace: root, now: Date.now, report() {} });
  try {
    const drafts: DraftStep[] = [];
    for (const candidate of candidates) {
      stderr.write(`assay: watching ${candidate.name}\n`);
      const context = { cache, caller: process.env, stdout, stderr, report() {}, now: Date.now };
      const observed = await observeStep(stepOf(candidate), root, context);
      const { name, command } = candidate;
      drafts.push({ name, observed, ...(typeof command !== 'string' && { command }) });
    }
    return drafts;
  } finally {
    await cache.close();
  }
}

/** With nothing declared but its command. */
function stepOf({ name, command }: CandidateStep): Step {
  const refuse = (why: string) => usage(why);
  const locate = (text: string) => ({ text, refuse });
  const step = resolveStep({
    owner: {
      name: '',
      folder: ROOT,
      scripts: new Map(),
      dependencies: [],
      file: { dependencies: [], defaults: {}, packageSteps: new Map(), steps: new Map() },
    },
    name,
    fields: {
      command: typeof command === 'string' ? locate(command) : command.map(locate),
      inputs: [],
    },
    defaults: [],
    source: { file: configFileOf(ROOT), path: ['steps', name] },
  });
  if (!step) throw usage(`${name} has no command`);
  return step;
}
