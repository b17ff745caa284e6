// Which tool sends a request, and in which of its invocations, by what the tool itself says: the RequestMetadata
// of the Remote Execution API, or the User-Agent. A name that is not known counts as its protocol, so the number
// of tools has a bound.
import type { IncomingHttpHeaders } from 'node:http';

export interface Caller {
  readonly tool: string;
  readonly version?: string | undefined;
  /** The tool's own id. Undefined if it sends none. */
  readonly invocation?: string | undefined;
}

const METADATA_HEADER = 'build.bazel.remote.execution.v2.requestmetadata-bin';

const KNOWN: ReadonlySet<string> = new Set([
  'assay',
  'bazel',
  'buck2',
  'buildbox',
  'buildstream',
  'ccache',
  'goma',
  'gradle',
  'lage',
  'moon',
  'nx',
  'pants',
  'please',
  'recc',
  'reclient',
  'rush',
  'sccache',
  'siso',
  'turbo',
]);

const MAX_TEXT = 100;
const NAME = /^[a-z][a-z0-9]{0,30}/;

/** `protocol` names the tool if nothing else does. */
export function callerOf(headers: IncomingHttpHeaders, protocol: string): Caller {
  const header = headers[METADATA_HEADER];
  const metadata = typeof header === 'string' ? parseMetadata(Buffer.from(header, 'base64')) : undefined;
  if (metadata) return { ...metadata, tool: known(metadata.tool) ?? protocol };
  return { tool: known(headers['user-agent'] ?? '') ?? protocol };
}

function known(text: string): string | undefined {
  const [name = ''] = NAME.exec(text.slice(0, MAX_TEXT).toLowerCase()) ?? [];
  return KNOWN.has(name) ? name : undefined;
}

const TOOL_DETAILS = 0x0a;
const INVOCATION = 0x1a;
const TOOL_NAME = 0x0a;
const TOOL_VERSION = 0x12;

/**
 * Reads three fields and skips the others: a build sends this with each call, and a whole decoding costs more
 * than all the rest of its accounting. Undefined if it is not a RequestMetadata.
 */
function parseMetadata(bytes: Buffer): Caller | undefined {
  let tool = '';
  let version: string | undefined;
  let invocation: string | undefined;
  for (const [tag, start, end] of fieldsOf(bytes, 0, bytes.length)) {
    if (tag === INVOCATION) invocation = textAt(bytes, start, end);
    if (tag !== TOOL_DETAILS) continue;
    for (const [inner, from, to] of fieldsOf(bytes, start, end)) {
      if (inner === TOOL_NAME) tool = textAt(bytes, from, to);
      if (inner === TOOL_VERSION) version = textAt(bytes, from, to);
    }
  }
  return { tool, version: version || undefined, invocation: invocation || undefined };
}

function textAt(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('utf8', start, Math.min(end, start + MAX_TEXT));
}

/** The fields with a length below 16 KiB; all of RequestMetadata are such. Ends at anything else. */
function fieldsOf(bytes: Buffer, from: number, to: number): [tag: number, start: number, end: number][] {
  const fields: [number, number, number][] = [];
  for (let at = from; at + 1 < to; ) {
    const tag = bytes[at] ?? 0;
    const low = bytes[at + 1] ?? 0;
    const isLong = low > 0x7f;
    const high = isLong ? (bytes[at + 2] ?? 0) : 0;
    const start = at + (isLong ? 3 : 2);
    const end = start + (low & 0x7f) + (high << 7);
    if ((tag & 7) !== 2 || high > 0x7f || end > to) break;
    fields.push([tag, start, end]);
    at = end;
  }
  return fields;
}
