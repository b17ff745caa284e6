// Parses the action of `audit` and `reproduce`: flags before `-- COMMAND`, or the name of a step.
import { relative } from 'node:path';
import { type FlagTable, type ParsedFlags, parseFlags, usage } from '../../core/cli/command.ts';
import { relPathFromUser } from '../../core/path.ts';
import type { Variables } from '../action/environment.ts';
import type { RunRequest } from '../action/request.ts';
import type { Step, StepTable } from '../config/step.ts';
import { currentFolder } from '../files/current-folder.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { ACTION_FLAGS, parseAction } from './action-flags.ts';

export interface NamedStep {
  readonly root: string;
  readonly step: Step;
  readonly steps: StepTable;
}

interface OneAction {
  readonly flags: ParsedFlags;
  readonly request: RunRequest;
  readonly caller: Variables;
  /** Set if the action is a step. */
  readonly named?: NamedStep;
}

/** `own`: the command's own flags, which both forms take. */
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
    throw usage(
      `name one step, or put a command after \`--\`: assay ${name} STEP, assay ${name} [FLAGS] -- COMMAND`,
    );
  return { flags, ...(await stepAction(step, flags, caller)) };
}

/** Loads the configuration's parser and the graph only here. */
async function stepAction(
  name: string,
  flags: ParsedFlags,
  caller: Variables,
): Promise<Omit<OneAction, 'flags'>> {
  const { openWorkspace } = await import('../graph/opened-workspace.ts');
  const { selectSteps } = await import('../graph/select/selection.ts');
  const { requestOf } = await import('../config/request.ts');
  const here = currentFolder();
  const workspace = await openWorkspace(here, storeFolder(flags.text('store'), caller), caller);
  const folder = relPathFromUser(relative(workspace.root, here));
  const [step, ...others] = selectSteps({ names: [name], packages: [], folder }, workspace.steps);
  if (step === undefined || others.length > 0) {
    const ids = [step, ...others].flatMap((one) => (one === undefined ? [] : [one.id]));
    throw usage(`${JSON.stringify(name)} matches ${ids.length} steps; name one of them: ${ids.join(', ')}`);
  }
  return { request: requestOf(step, workspace, caller), caller, named: { ...workspace, step } };
}
