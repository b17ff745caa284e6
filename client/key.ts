// From a request to its key: inputs, environment, tools and platform become one REAPI Action.
import { type EncodedAction, encodeAction, type Property } from '../core/action.ts';
import type { RunContext } from './context.ts';
import { keyedEnvironment, looksSecret, type Variables } from './environment.ts';
import type { FileDigests } from './inputs/file-digest.ts';
import type { Inputs } from './inputs/inputs.ts';
import { platformProperties } from './platform.ts';
import type { RunRequest } from './request.ts';
import { resolveTool, type Tool, toolProperties } from './tools.ts';

export interface KeyedAction extends EncodedAction {
  readonly request: RunRequest;
  readonly inputs: Inputs;
  readonly environment: readonly Property[];
  /** The command's own program first, then the declared ones. */
  readonly tools: readonly [Tool, ...Tool[]];
}

export function keyOf(request: RunRequest, { cache, caller, report }: RunContext): KeyedAction {
  const inputs = cache.inputs.read(request);
  const environment = keyedEnvironment(request.variables, caller);
  for (const { name } of request.variables) if (looksSecret(name)) report({ type: 'secret-declared', name });
  const tools = resolveTools(request, cache.digests, caller);
  const encoded = encodeAction({
    arguments: request.command,
    workingDirectory: request.workingDirectory,
    environment,
    outputs: request.outputs,
    platform: [...platformProperties(), ...toolProperties(tools)],
    inputRoot: inputs.root,
  });
  for (const path of inputs.strayLinks) report({ type: 'stray-link', path });
  return { ...encoded, request, inputs, environment, tools };
}

function resolveTools(request: RunRequest, digests: FileDigests, caller: Variables): [Tool, ...Tool[]] {
  const { workspace, workingDirectory, command, tools } = request;
  const path = caller.PATH ?? '';
  const program = resolveTool(
    command[0],
    { path, folder: `${workspace}/${workingDirectory}`, digests },
    'ASSAY_COMMAND_NOT_FOUND',
  );
  const declared = [...new Set(tools)].map((name) => resolveTool(name, { path, folder: workspace, digests }));
  return [program, ...declared.filter(({ name, file }) => name !== program.name || file !== program.file)];
}
