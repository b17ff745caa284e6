// An action without its values, and the message in which a server tells it: EarlierAction of core/proto/assay.proto.
// Names stay. A digest stands for each value, and one for the whole command line, so two outlines can be compared,
// and a reader of one learns no value that it does not know.
import { type Digest, digestOf, parseHash } from '../../core/digest.ts';
import type { Shape } from '../../core/message.ts';
import { decodeStrict } from '../../core/message.ts';
import { type DigestedValue, EarlierAction } from '../../core/proto/generated/assay.ts';
import type { ComparedAction } from './difference.ts';

/** Where the earlier action of a step ran, and how that ended. */
export interface EarlierRun {
  readonly namespace: string;
  /** The id of the reported run. */
  readonly run: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  /** Absent if the command succeeded. */
  readonly exitCode?: number | undefined;
  /** Why its result was not stored, if it was not. */
  readonly notKept?: string | undefined;
  /** How long its command ran, if that is known. */
  readonly ranMs?: number | undefined;
}

export type Earlier =
  /** No run of the step was reported. */
  | { readonly outcome: 'none' }
  /** The same action ran. */
  | ({ readonly outcome: 'same' } & EarlierRun)
  /** Without an outline, the server no longer has the action. */
  | ({ readonly outcome: 'other'; readonly outline?: ActionOutline } & EarlierRun);

export interface ActionOutline {
  readonly action: ComparedAction;
  /** Some Directory messages of its inputs. */
  readonly directories: readonly Uint8Array[];
}

/** The texts are "sha256:" and 64 hex digits. */
export function withoutValues(action: ComparedAction): ComparedAction {
  return {
    ...action,
    command: [valueDigest(JSON.stringify(action.command))],
    variables: digested(action.variables),
    properties: digested(action.properties),
  };
}

function digested(values: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...values].map(([name, value]) => [name, valueDigest(JSON.stringify([name, value]))]));
}

function valueDigest(text: string): string {
  return shown(Buffer.from(digestOf(Buffer.from(`assay-value-1 ${text}`)).hash, 'hex'));
}

const PREFIX = 'sha256:';

function shown(digest: Uint8Array): string {
  return `${PREFIX}${Buffer.from(digest).toString('hex')}`;
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(PREFIX.length), 'hex');
}

/** The action of an outline is one without values. */
export function encodeEarlier(earlier: Earlier): Buffer {
  if (earlier.outcome === 'none') return encode({ outcome: earlier.outcome });
  const { outcome, namespace, run, at, exitCode = 0, notKept = '', ranMs = 0 } = earlier;
  const outline = 'outline' in earlier ? earlier.outline : undefined;
  return encode({ outcome, namespace, run, at, exitCode, notKept, ranMs, ...(outline && fieldsOf(outline)) });
}

const NOTHING = EarlierAction.decode(new Uint8Array(0));

function encode(fields: Partial<EarlierAction>): Buffer {
  return Buffer.from(EarlierAction.encode({ ...NOTHING, ...fields }).finish());
}

function fieldsOf({ action, directories }: ActionOutline): Partial<EarlierAction> {
  return {
    keyVersion: action.keyVersion,
    command: bytesOf(action.command[0] ?? ''),
    workingDirectory: action.workingDirectory,
    outputs: [...action.outputs],
    variables: valuesOf(action.variables),
    properties: valuesOf(action.properties),
    inputRoot: action.inputRoot.hash,
    inputRootBytes: action.inputRoot.size,
    directories: directories.map((one) => Buffer.from(one)),
  };
}

function valuesOf(digests: ReadonlyMap<string, string>): DigestedValue[] {
  return [...digests].map(([name, digest]) => ({ name, digest: bytesOf(digest) }));
}

const EARLIER: Shape = { many: { 11: {}, 12: {} } };

/** Undefined for a message that this version does not know. */
export function decodeEarlier(bytes: Uint8Array): Earlier | undefined {
  const message = decodeStrict(EarlierAction, EARLIER, bytes, 'not an earlier action');
  const { outcome, namespace, run, at, exitCode, notKept, ranMs } = message;
  if (outcome === 'none') return { outcome };
  const ran = {
    ...{ namespace, run, at },
    ...(exitCode !== 0 && { exitCode }),
    ...(notKept !== '' && { notKept }),
    ...(ranMs > 0 && { ranMs }),
  };
  if (outcome === 'same') return { outcome, ...ran };
  if (outcome !== 'other') return undefined;
  if (message.inputRoot === '') return { outcome, ...ran };
  const root: Digest = { hash: parseHash(message.inputRoot), size: message.inputRootBytes };
  return { outcome, ...ran, outline: { action: actionIn(message, root), directories: message.directories } };
}

function actionIn(message: EarlierAction, inputRoot: Digest): ComparedAction {
  return {
    keyVersion: message.keyVersion,
    command: [shown(message.command)],
    workingDirectory: message.workingDirectory,
    outputs: message.outputs,
    variables: digestsIn(message.variables),
    properties: digestsIn(message.properties),
    inputRoot,
  };
}

function digestsIn(values: readonly DigestedValue[]): Map<string, string> {
  return new Map(values.map(({ name, digest }) => [name, shown(digest)]));
}
