// Finds the tool that sends a request, and its invocation, by what the tool itself says: the RequestMetadata
// of the Remote Execution API, or the User-Agent. A name that is not known counts as its protocol, so the number
// of tools has a bound.

import type { IncomingHttpHeaders } from 'node:http';
import { BoundedMap } from '../../store/shared/bounded-map.ts';
import { ACCOUNTING, SERVER } from '../limits.ts';
import { KNOWN_NAMES } from './tools.ts';

export interface Caller {
  readonly tool: string;
  readonly protocol: string;
  readonly toolAndProtocol: string;
  readonly version: string | undefined;
  /** The tool's own id. Undefined if it sends none. */
  readonly invocation: string | undefined;
}

const METADATA_HEADER = 'build.bazel.remote.execution.v2.requestmetadata-bin';

const NAME = /^[a-z][a-z0-9]{0,30}/;

interface Remembered {
  /** The tool's name as it was sent. */
  readonly name: string;
  readonly caller: Caller;
}

/**
 * Finds callers, and remembers the last ones, because a tool sends the same User-Agent or invocation with each
 * request. It then returns the same object, by which others can remember what they know of the caller.
 */
export class Callers {
  readonly #byAgent = new BoundedMap<string, Remembered>(ACCOUNTING.maxCallers);
  readonly #byInvocation = new BoundedMap<string, Remembered>(ACCOUNTING.maxCallers);

  /** `protocol` names the tool if nothing else does. */
  of(headers: IncomingHttpHeaders, protocol: string): Caller {
    const metadata = headers[METADATA_HEADER];
    if (typeof metadata === 'string') return this.#ofMetadata(metadata, protocol);
    const name = headers['user-agent'] ?? '';
    const known = this.#byAgent.get(name);
    if (known?.caller.protocol === protocol) return known.caller;
    const caller = newCaller(name, protocol, undefined, '');
    if (name.length <= ACCOUNTING.maxCallerText) this.#byAgent.set(name, { name, caller });
    return caller;
  }

  #ofMetadata(header: string, protocol: string): Caller {
    const { name, version, invocation } = parseMetadata(header);
    const known = this.#byInvocation.get(invocation);
    if (known?.name === name && known.caller.version === version && known.caller.protocol === protocol)
      return known.caller;
    const caller = newCaller(name, protocol, version, invocation);
    this.#byInvocation.set(invocation, { name, caller });
    return caller;
  }
}

function newCaller(name: string, protocol: string, version: string | undefined, invocation: string): Caller {
  const tool = toolOf(name) ?? protocol;
  return {
    tool,
    protocol,
    toolAndProtocol: `${tool}/${protocol}`,
    version,
    invocation: invocation || undefined,
  };
}

function toolOf(text: string): string | undefined {
  const [name = ''] = NAME.exec(text.slice(0, ACCOUNTING.maxCallerText).toLowerCase()) ?? [];
  return KNOWN_NAMES.has(name) ? name : undefined;
}

const TOOL_DETAILS = 0x0a;
const INVOCATION = 0x1a;
const TOOL_NAME = 0x0a;
const TOOL_VERSION = 0x12;

/** All headers of a request together are no longer. */
const decoded = Buffer.alloc(SERVER.maxHeaderBytes);

/**
 * Reads three fields and skips the others: a build sends this with each call, and a whole decoding costs more
 * than all the rest of its accounting. What is not a RequestMetadata has none of them.
 */
function parseMetadata(header: string): { name: string; version: string | undefined; invocation: string } {
  const fields = new Fields(0, decoded.write(header, 'base64'));
  let name = '';
  let version = '';
  let invocation = '';
  while (fields.next()) {
    if (fields.tag === INVOCATION) invocation = fields.text;
    if (fields.tag !== TOOL_DETAILS) continue;
    const details = new Fields(fields.start, fields.end);
    while (details.next()) {
      if (details.tag === TOOL_NAME) name = details.text;
      if (details.tag === TOOL_VERSION) version = details.text;
    }
  }
  return { name, version: version || undefined, invocation };
}

/** The fields of a message in `decoded` with a length below 16 KiB; all of RequestMetadata are such. */
class Fields {
  tag = 0;
  start = 0;
  end: number;
  readonly #to: number;

  constructor(from: number, to: number) {
    this.end = from;
    this.#to = to;
  }

  /** False at the end, and at anything else than such a field. */
  next(): boolean {
    const at = this.end;
    const low = decoded[at + 1] ?? 0;
    const isLong = low > 0x7f;
    const high = isLong ? (decoded[at + 2] ?? 0) : 0;
    this.tag = decoded[at] ?? 0;
    this.start = at + (isLong ? 3 : 2);
    this.end = this.start + (low & 0x7f) + (high << 7);
    return this.start <= this.#to && (this.tag & 7) === 2 && high <= 0x7f && this.end <= this.#to;
  }

  get text(): string {
    return decoded.toString('utf8', this.start, Math.min(this.end, this.start + ACCOUNTING.maxCallerText));
  }
}
