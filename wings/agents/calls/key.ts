// The key of a call: its name, version, input, and the contents of the files and variables that it declares.
// Guarantee: equal calls have equal keys on every machine of the same kind. The key is no key of an action: its text
// begins with its own kind, and it lies in a namespace of its own.
import { requestFor } from '../../../client/action/declaration.ts';
import { keyedEnvironment, type Variables } from '../../../client/action/environment.ts';
import { platformProperties } from '../../../client/action/platform.ts';
import type { RunRequest } from '../../../client/action/request.ts';
import type { InputSource, Inputs } from '../../../client/inputs/inputs.ts';
import type { FunctionCall } from '../../../client/library/library-port.ts';
import { usage } from '../../../core/cli/command.ts';
import { canonicalJson } from '../../../core/config/canonical-json.ts';
import { type Digest, digestOf } from '../../../core/digest.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { type RelPath, ROOT, relPathFromUser } from '../../../core/path.ts';
import { CALLS } from './limits.ts';

/** Of all answers, in the local store and below the namespace of the remote. */
export const CALLS_NAMESPACE = parseNamespace('calls');

export const JSON_BOUNDS = {
  code: 'ASSAY_BAD_CALL',
  maxDepth: CALLS.maxJsonDepth,
  maxLength: CALLS.maxJsonLength,
} as const;

export interface KeyedCall {
  readonly key: Digest;
  /** The canonical text of the input. */
  readonly input: string;
  readonly request: RunRequest;
  readonly inputs: Inputs | undefined;
  /** Where its files go. */
  readonly folder: RelPath | undefined;
}

/** What of a call must be right before a file is read. */
export interface CheckedCall {
  readonly call: FunctionCall;
  readonly input: string;
  readonly request: RunRequest;
  readonly folder: RelPath | undefined;
}

const FIELDS = ['name', 'version', 'input', 'files', 'environment', 'folder', 'workspace'];

export function checkCall(call: FunctionCall): CheckedCall {
  const unknown = Object.keys(Object(call)).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw usage(`a call has no field ${JSON.stringify(unknown.slice(0, 40))}`);
  for (const field of ['name', 'version'] as const) checkName(field, Object(call)[field]);
  checkTexts('files', call.files);
  checkTexts('environment', call.environment);
  const input = canonicalJson(call.input ?? null, JSON_BOUNDS);
  const { files = [], environment = [], workspace } = call;
  const folder = call.folder === undefined ? undefined : relPathFromUser(call.folder);
  if (folder === ROOT) throw usage('the folder of a call is not the whole workspace');
  const outputs = folder === undefined ? [] : [folder];
  const request = requestFor({ command: [call.name], inputs: files, env: environment, workspace, outputs });
  return { call, input, request, folder };
}

export function keyCall(
  { call, input, request, folder }: CheckedCall,
  source: InputSource,
  caller: Variables,
): KeyedCall {
  const inputs = call.files && call.files.length > 0 ? source.read(request) : undefined;
  const text = canonicalJson(
    {
      kind: 'assay call',
      format: 1,
      name: call.name,
      version: call.version,
      input: digestOf(Buffer.from(input)).hash,
      files: inputs ? inputs.root.hash : null,
      environment: keyedEnvironment(request.variables, caller).map(({ name, value }) => [name, value]),
      platform: platformProperties().map(({ name, value }) => [name, value]),
      writesFiles: folder !== undefined,
    },
    JSON_BOUNDS,
  );
  return { key: digestOf(Buffer.from(text)), input, request, inputs, folder };
}

function checkName(field: string, value: unknown): void {
  if (typeof value !== 'string' || value === '' || value.length > CALLS.maxNameLength || value.includes('\0'))
    throw usage(`${field} takes a text of at most ${CALLS.maxNameLength} characters`);
}

function checkTexts(field: string, value: unknown): void {
  const isList = Array.isArray(value) && [...value].every((one) => typeof one === 'string');
  if (value !== undefined && !isList) throw usage(`${field} takes a list of texts`);
}
