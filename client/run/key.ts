// Computes the key of a request: inputs, environment, tools and platform become one REAPI Action.
// The key is the digest of that Action: equal declarations and contents give equal keys on every machine.
import { delimiter } from 'node:path';
import { encodeAction, type Property } from '../../core/action.ts';
import { messageOf } from '../../core/errors.ts';
import { SANDBOX_VERSION } from '../../hermeticity/sandbox/sandbox-version.ts';
import { expandPatterns } from '../action/declared-variables.ts';
import { keyedEnvironment, looksSecretVariable, type Variables } from '../action/environment.ts';
import { platformProperties } from '../action/platform.ts';
import { toolPathOf } from '../action/program-folders.ts';
import type { RunRequest } from '../action/request.ts';
import type { FileDigests } from '../files/file-digest.ts';
import type { InputSource } from '../inputs/inputs.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import type { Report } from '../terminal/events.ts';
import type { ToolMemo } from '../tools/tool-memo.ts';
import { isStill, resolveTool, type Tool, toolProperties } from '../tools/tools.ts';

/** What reads the files and variables that make a key. */
interface KeySources {
  readonly cache: { readonly inputs: InputSource; readonly digests: FileDigests; readonly tools: ToolMemo };
  readonly caller: Variables;
}

export function keyAction(
  request: RunRequest,
  { cache, caller, report }: KeySources & { readonly report: Report },
): KeyedAction {
  const inputs = cache.inputs.read(request);
  const environment = keyedEnvironment(request.variables, caller);
  for (const { name } of expandPatterns(request.variables, caller))
    if (looksSecretVariable(name)) report({ type: 'secret-declared', name });
  const find: FindTool = (...search) => cache.tools.resolve(...search);
  const tools = resolveTools(request, cache.digests, caller, find);
  const encoded = encodeAction({
    arguments: request.command,
    workingDirectory: request.workingDirectory,
    environment,
    outputs: request.outputs,
    platform: [...platformProperties(), ...toolProperties(tools), ...viewProperties(request)],
    inputRoot: inputs.root,
  });
  for (const path of inputs.strayLinks) report({ type: 'stray-link', path });
  return { ...encoded, request, inputs, environment, tools };
}

/**
 * How the action sees files: with programs of its package on PATH, with observed inputs, laid out by Bazel, in the
 * sandbox. Version 0.1 did not watch the tools of Bazel's workers; its results have no `layout`, and are not found.
 */
function viewProperties({ observed, layout, sandbox, programFolders }: RunRequest): Property[] {
  return [
    ...(programFolders.length > 0 ? [{ name: 'package-path', value: programFolders.join(delimiter) }] : []),
    ...(layout ? [{ name: 'layout', value: layout }] : []),
    ...(observed ? [{ name: 'inputs', value: 'observed' }] : []),
    ...(sandbox ? [{ name: 'sandbox', value: SANDBOX_VERSION }] : []),
  ];
}

/** Why the inputs or tools may differ from those in the key; undefined if nothing touched them since. */
export function changedSince(action: KeyedAction, { cache, caller }: KeySources): string | undefined {
  const { request, inputs, tools } = action;
  try {
    const changed = cache.inputs.changeSince(inputs, request);
    if (changed !== undefined) return changed;
    const now = resolveTools(request, cache.digests, caller, resolveTool);
    const touched = now.some((tool, at) => !isStill(tools[at], tool));
    return touched ? 'its tools changed while it ran' : undefined;
  } catch (error) {
    return `its inputs or tools are not there any more: ${messageOf(error)}`;
  }
}

type FindTool = typeof resolveTool;

function resolveTools(
  request: RunRequest,
  digests: FileDigests,
  caller: Variables,
  find: FindTool,
): [Tool, ...Tool[]] {
  const { workspace, workingDirectory, command, tools } = request;
  const path = toolPathOf(request, caller);
  const program = find(
    command[0],
    { path, folder: `${workspace}/${workingDirectory}`, digests, workspace },
    'ASSAY_COMMAND_NOT_FOUND',
  );
  const declared = [...new Set(tools)].map((name) =>
    find(name, { path, folder: workspace, digests, workspace }),
  );
  return [program, ...declared.filter(({ name, file }) => name !== program.name || file !== program.file)];
}
