// A process, told apart from a later one that got the same number, and from one of another container: by its number, the
// time it was started, and the namespace in which that number means something.
import { readFileSync, readlinkSync } from 'node:fs';

export interface ProcessIdentity {
  readonly namespace: string;
  readonly pid: number;
  /** In clock ticks since boot, as the kernel has it. */
  readonly started: string;
}

/** Undefined if there is no such process, or it has ended and waits to be collected. */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const started = fields[STARTED_FIELD];
    return started === undefined || state === 'Z' ? undefined : { namespace: ownNamespace(), pid, started };
  } catch {
    return undefined;
  }
}

/** The 22nd field of the file, the 20th after the name, the 19th after the state. */
const STARTED_FIELD = 18;

export type Liveness = 'running' | 'ended' | 'unknown';

/** A process of another namespace can't be seen from here, and none at all where there is no /proc. */
export function livenessOf(process: ProcessIdentity): Liveness {
  if (process.namespace !== ownNamespace() || process.namespace === NO_NAMESPACE) return 'unknown';
  return identify(process.pid)?.started === process.started ? 'running' : 'ended';
}

/** Of this process: it waits, or what it started does, until this one has ended. */
export function isAncestor({ namespace, pid, started }: ProcessIdentity): boolean {
  if (namespace !== ownNamespace()) return false;
  for (let parent = process.ppid; parent > 1; parent = parentOf(parent)) {
    if (parent === pid) return identify(pid)?.started === started;
  }
  return false;
}

/** 0 if it is gone. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
  } catch {
    return 0;
  }
}

/** One word, fit for a file name. */
export function identityText({ namespace, pid, started }: ProcessIdentity): string {
  return `${namespace}-${pid}-${started}`;
}

export function parseIdentity(text: string): ProcessIdentity | undefined {
  const [, namespace, pid, started] = /^(\d+)-(\d+)-(\d+)/.exec(text) ?? [];
  if (namespace === undefined || pid === undefined || started === undefined) return undefined;
  return { namespace, pid: Number(pid), started };
}

let own: ProcessIdentity | undefined;

export function ownIdentity(): ProcessIdentity {
  own ??= identify(process.pid) ?? { namespace: ownNamespace(), pid: process.pid, started: '0' };
  return own;
}

let namespace: string | undefined;

function ownNamespace(): string {
  namespace ??= readNamespace();
  return namespace;
}

/** Where the kernel does not say. */
const NO_NAMESPACE = '0';

function readNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? NO_NAMESPACE;
  } catch {
    return NO_NAMESPACE;
  }
}
