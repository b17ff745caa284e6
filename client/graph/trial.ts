// Checks configuration files before they are written: a run could read them, order their steps, and find
// inputs and tools. Runs nothing and writes nothing.
import { AssayError, messageOf } from '../../core/errors.ts';
import type { Texts } from '../config/packages.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import { type Workspace, workspaceWith } from '../config/workspace.ts';
import type { RunContext } from '../run/context.ts';
import { keyAction } from '../run/key.ts';
import { graphOf, refuseSharedOutputs } from './graph.ts';
import { refuseUnorderedInputs } from './unordered-inputs.ts';

/** Why a run would refuse these files or a step that `isAsked` selects; undefined if it would not. */
export async function findRefusal(
  root: string,
  texts: Texts,
  context: RunContext,
  isAsked: (step: Step) => boolean,
): Promise<string | undefined> {
  try {
    const workspace = await workspaceWith(root, texts);
    const { steps, stats } = workspace;
    refuseSharedOutputs(steps);
    refuseUnorderedInputs(steps, stats);
    graphOf([...steps.values()], steps);
    for (const step of steps.values()) if (isAsked(step)) tryStep(step, workspace, context);
    return undefined;
  } catch (error) {
    return error instanceof AssayError ? error.detail : messageOf(error);
  }
}

function tryStep(step: Step, workspace: Workspace, context: RunContext): void {
  const request = requestOf(step, workspace, context.caller);
  keyAction(request, { ...context, report() {} });
}
