// The one action that a command is about: declared by flags before `-- COMMAND`, or a step of assay.json by its name.
import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { type FlagTable, type ParsedFlags, parseFlags, usage } from '../../core/cli/command.ts';
import { relPathFromUser } from '../../core/path.ts';
import type { Variables } from '../action/environment.ts';
import type { RunRequest } from '../action/request.ts';
import type { Step } from '../config/step.ts';
import type { StepTable } from '../graph/graph.ts';
import { ACTION_FLAGS, parseAction } from './action-flags.ts';

export interface NamedStep {
  readonly root: string;
  readonly step: Step;
  readonly steps: StepTable;
}

export interface OneAction {
  readonly flags: ParsedFlags;
  readonly request: RunRequest;
  /** The caller's variables; of a step, with its package's programs on PATH. */
  readonly caller: Variables;
  /** Where it stands in the configuration, if it is a step. */
  readonly named?: NamedStep;
}

/** `own`: the flags of the command itself, which stand with either. */
export async function parseOneAction(
  name: string,
  args: readonly string[],
  own: FlagTable,
): Promise<OneAction> {
  const caller = process.env;
  if (args.includes('--')) return { ...parseAction(name, args, { ...ACTION_FLAGS, ...own }), caller };
  const flags = parseFlags(args, own);
  const [step, ...more] = flags.positionals;
  if (step === undefined || more.length > 0)
    throw usage(`one step, or a command after \`--\`: assay ${name} STEP, assay ${name} [FLAGS] -- COMMAND`);
  return { flags, ...(await stepAction(step, flags, caller)) };
}

/** The configuration's parser and the graph are loaded only here. */
async function stepAction(
  name: string,
  flags: ParsedFlags,
  caller: Variables,
): Promise<Omit<OneAction, 'flags'>> {
  const { stateFolder, openWorkspace } = await import('../graph/opened-workspace.ts');
  const { select } = await import('../graph/selection.ts');
  const { requestOf } = await import('../config/request.ts');
  const here = realpathSync(process.cwd());
  const workspace = await openWorkspace(here, stateFolder(flags.text('store')), caller);
  const folder = relPathFromUser(relative(workspace.root, here));
  const [step, ...others] = select({ names: [name], packages: [], folder }, workspace.steps);
  if (step === undefined || others.length > 0) {
    const ids = [step, ...others].flatMap((one) => (one === undefined ? [] : [one.id]));
    throw usage(`${JSON.stringify(name)} means ${ids.length} steps; name one of them: ${ids.join(', ')}`);
  }
  return { ...requestOf(step, workspace, caller), named: { ...workspace, step } };
}
