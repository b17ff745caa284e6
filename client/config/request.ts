// Turns a step into the RunRequest that runs it: variables from the caller's environment, tools on PATH, and
// the outputs of its dependencies as inputs.
import type { Variables } from '../action/environment.ts';
import { OPTION_DEFAULTS, readOptions } from '../action/fields.ts';
import { GraphOutputs, OutputsOfOthers } from '../action/outputs-of-others.ts';
import { programFoldersOf, toolPathOf } from '../action/program-folders.ts';
import {
  exclusionPatterns,
  type InputPattern,
  type RunRequest,
  stateAndCheckpointPaths,
} from '../action/request.ts';
import { ToolMemo } from '../tools/tool-memo.ts';
import type { Step } from './step.ts';
import { variablesOf } from './variables.ts';
import type { Workspace } from './workspace.ts';

type Steps = Pick<Workspace, 'root' | 'steps'>;

export function requestOf(
  step: Step,
  workspace: Steps,
  caller: Variables,
  known: Pick<ToolMemo, 'isFindable'> = new ToolMemo(workspace.root),
): RunRequest {
  const folder = workspace.root;
  const variables = variablesOf(step.env, caller);
  const programFolders = programFoldersOf(folder, step.folder, step.outputs);
  const path = toolPathOf({ variables, programFolders, outputs: step.outputs, workspace: folder }, caller);
  return {
    ...OPTION_DEFAULTS,
    ...readOptions((option) => step[option]),
    name: step.id,
    workspace: workspace.root,
    workingDirectory: step.workingDirectory,
    command: step.command,
    inputs: [
      ...step.inputs,
      ...outputsBefore(step, workspace.steps),
      ...exclusionPatterns(stateAndCheckpointPaths(step)),
    ],
    outputs: step.outputs,
    variables,
    tools: [...step.tools, ...step.programs.filter((name) => known.isFindable(name, { path, folder }))],
    programFolders,
    unordered: () => outputsOfOthers(step, workspace.steps),
    state: step.state,
    ...(step.checkpoint && { checkpoint: step.checkpoint }),
  };
}

/**
 * The outputs of all transitive dependencies as inputs: a package's declarations refer to those of further
 * packages. They count by content, so a dependency that ran again with the same outputs changes nothing.
 */
export function outputsBefore(step: Step, steps: Workspace['steps']): InputPattern[] {
  return [...stepsBefore(step, steps)].flatMap((id) =>
    (steps.get(id)?.outputs ?? []).map((pattern) => ({ pattern, optional: true })),
  );
}

const graphOutputs = new WeakMap<Workspace['steps'], GraphOutputs>();

function outputsOfOthers(step: Step, steps: Workspace['steps']): OutputsOfOthers {
  const all = graphOutputs.get(steps) ?? new GraphOutputs(steps.values());
  graphOutputs.set(steps, all);
  return new OutputsOfOthers(all, stepsBefore(step, steps).add(step.id));
}

/** The ids of all transitive dependencies, in no order. */
export function stepsBefore(step: Step, steps: Workspace['steps'], found = new Set<string>()): Set<string> {
  for (const id of step.dependsOn) {
    const other = steps.get(id);
    if (!other || found.has(id)) continue;
    found.add(id);
    stepsBefore(other, steps, found);
  }
  return found;
}
