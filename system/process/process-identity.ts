// Identifies a process by pid, start time and PID namespace. So it differs from a later process with the same
// pid, and from one in another container.
import { readFileSync, readlinkSync } from 'node:fs';

export interface ProcessIdentity {
  readonly namespace: string;
  readonly pid: number;
  /** In clock ticks since boot. */
  readonly started: string;
}

/** Undefined if there is no such process, or it is a zombie. */
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

/** Field 22 of the file: the 19th after the state. */
const STARTED_FIELD = 18;

export type Liveness = 'running' | 'ended' | 'unknown';

/** `unknown` for a process of another namespace, and for every process where there is no /proc. */
export function livenessOf(process: ProcessIdentity): Liveness {
  if (process.namespace !== ownNamespace() || process.namespace === NO_NAMESPACE) return 'unknown';
  return identify(process.pid)?.started === process.started ? 'running' : 'ended';
}

/** Whether `process` is an ancestor of this one: it waits, directly or not, until this process ends. */
export function isAncestor({ namespace, pid, started }: ProcessIdentity): boolean {
  if (namespace !== ownNamespace()) return false;
  for (const ancestor of ancestors()) if (ancestor === pid) return identify(pid)?.started === started;
  return false;
}

/** The process that started this one, then the one that started that, without the first of all. */
export function* ancestors(): Generator<number> {
  for (let parent = process.ppid; parent > 1; parent = parentOf(parent)) yield parent;
}

/** 0 if the process is gone. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
  } catch {
    return 0;
  }
}

/** One word that is safe in a file name. */
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

/** The namespace where the kernel does not report one. */
const NO_NAMESPACE = '0';

function readNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? NO_NAMESPACE;
  } catch {
    return NO_NAMESPACE;
  }
}
