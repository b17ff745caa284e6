// The lines of a manifest, each a JSON object with one field that says what it is:
//
//   {"made":{"at","assay","where"}}            the first line: when, by which version and where it was made
//   {"result":{"in","key","message"}}          an ActionResult, as it was sent, in base64
//   {"set":{"action","set"}}                   the blob of a path set of an action
//   {"label":{"in","label","key"}}             a name of a result of the same "in"
//   {"blob":[hash, size]}                      in the order of the hashes, which is that of the content
//
// `in` is what results are for: "" for those of actions, or the namespace that a local store has for snapshots. A bundle
// names no other namespace, so it cannot say where at a server something goes.
// Guarantee: a line that has another form, or a field more, is refused.
import { type Digest, type Hash, isHash } from '../../../core/digest.ts';
import { type Namespace, parseNamespace } from '../../../core/namespace.ts';
import { STORE } from '../../../store/limits.ts';
import { isSize, objectIn } from './layout.ts';
import { damaged } from './tar.ts';

export interface Maker {
  /** In ISO 8601. */
  readonly at: string;
  /** The version of Assay. */
  readonly assay: string;
  /** The address of a CI job, or the name of a machine. */
  readonly where: string;
}

export interface ResultRecord {
  readonly in: Namespace;
  readonly key: Hash;
  readonly message: Buffer;
}

export interface SetRecord {
  readonly action: Hash;
  readonly set: Hash;
}

export interface LabelRecord {
  readonly in: Namespace;
  readonly label: string;
  readonly key: Hash;
}

export type BundleRecord =
  | { readonly made: Maker }
  | { readonly result: ResultRecord }
  | { readonly set: SetRecord }
  | { readonly label: LabelRecord }
  | { readonly blob: Digest };

export function encodeRecord(record: BundleRecord): string {
  return `${JSON.stringify(inJson(record))}\n`;
}

function inJson(record: BundleRecord): object {
  if ('blob' in record) return { blob: [record.blob.hash, record.blob.size] };
  if ('made' in record)
    return { made: { at: record.made.at, assay: record.made.assay, where: record.made.where } };
  if ('set' in record) return { set: { action: record.set.action, set: record.set.set } };
  if ('label' in record)
    return { label: { in: record.label.in, label: record.label.label, key: record.label.key } };
  const { in: kind, key, message } = record.result;
  return { result: { in: kind, key, message: message.toString('base64') } };
}

export function decodeRecord(line: string): BundleRecord {
  const fields = objectIn(line, 'a line of the manifest is not JSON');
  const record = recordIn(fields);
  if (encodeRecord(record) !== line) throw damaged('a line of the manifest has what no version writes');
  return record;
}

function recordIn({ blob, made, set, label, result }: Readonly<Record<string, unknown>>): BundleRecord {
  if (Array.isArray(blob)) {
    const [hash, size]: readonly unknown[] = blob;
    if (isSize(size) && size > 0) return { blob: { hash: hashIn(hash), size } };
  }
  if (isObject(result))
    return {
      result: {
        in: kindIn(result.in),
        key: hashIn(result.key),
        message: Buffer.from(textIn(result.message), 'base64'),
      },
    };
  if (isObject(set)) return { set: { action: hashIn(set.action), set: hashIn(set.set) } };
  if (isObject(label))
    return { label: { in: kindIn(label.in), label: labelIn(label.label), key: hashIn(label.key) } };
  if (isObject(made))
    return {
      made: { at: timeIn(made.at), assay: textIn(made.assay, MAX_TEXT), where: textIn(made.where, MAX_TEXT) },
    };
  throw damaged('a line of the manifest is neither a result, a path set, a label nor a blob');
}

const MAX_TEXT = 300;

/** The namespaces that a local store has for results without an action: wings/snapshots. */
const KINDS = /^(?:|state|checkpoint|saved\/[0-9a-f]{32})$/;

export function isKind(namespace: string): boolean {
  return KINDS.test(namespace);
}

function kindIn(value: unknown): Namespace {
  const text = textIn(value);
  if (!isKind(text)) throw damaged(`${JSON.stringify(text.slice(0, MAX_TEXT))} is no kind of results`);
  return parseNamespace(text);
}

function hashIn(value: unknown): Hash {
  if (typeof value === 'string' && isHash(value)) return value;
  throw damaged('a line of the manifest names something by no SHA-256');
}

function textIn(value: unknown, most = Number.POSITIVE_INFINITY): string {
  if (typeof value === 'string' && value.length <= most) return value;
  throw damaged('a text is missing in a line of the manifest, or too long');
}

function timeIn(value: unknown): string {
  const text = textIn(value, MAX_TEXT);
  if (!Number.isNaN(Date.parse(text))) return text;
  throw damaged('the manifest says no time');
}

function labelIn(value: unknown): string {
  const text = textIn(value);
  const { length } = Buffer.from(text);
  if (length === 0 || length > STORE.maxLabelBytes || text.includes('\0'))
    throw damaged('a label is empty, too long, or contains NUL');
  return text;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
