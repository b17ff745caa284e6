// The conditions of one run, as options of the helper. Everything that is not varied has one fixed value in
// every run, so a difference between two runs comes from what was varied.
import { createCipheriv } from 'node:crypto';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Variation } from './variation.ts';

const NANOSECONDS = 1_000_000n;
const DAY = 24 * 60 * 60 * 1000;
/**
 * Differs in year, month, day, weekday, hour, minute, second, and in the milli-, micro- and nanosecond. A
 * program that reads only one of them (`date +%N`, Date.now() % 1000) must see another value, too.
 */
const LATER = { ms: 398 * DAY + 7 * 3_600_000 + 13 * 60_000 + 11_271, ns: 829_183n };

const OTHER_HOST = 'varied-host';
/** The helper answers uname with it, too (native/answers.c). */
const OTHER_DOMAIN = 'varied-domain';
const OTHER_USER = 54_321;
const FIRST_PID = { held: 1001, varied: 20_011 };
const SEED = { held: 1, varied: 2 };

export interface ClockSettings {
  /** The fixed time of the clock. */
  readonly heldMs: number;
  /** How long the clock stands still. */
  readonly holdMs: number;
  /** When the copy was started. */
  readonly sinceMs: number;
}

interface Conditions {
  readonly varied: ReadonlySet<Variation>;
  readonly clocks: ClockSettings;
  /** Monotonic clocks stand still, too. */
  readonly frozen: boolean;
  /** The run has its own namespaces; without them it sees the machine's process ids and system files. */
  readonly namespaces: boolean;
}

/** `folder`: for the files that replace system files. */
export function optionsFor({ varied, clocks, frozen, namespaces }: Conditions, folder: string): string[] {
  const later = varied.has('clock') ? LATER : { ms: 0, ns: 0n };
  return [
    ...[
      '--clock',
      nanoseconds(clocks.heldMs + later.ms, later.ns),
      '--hold',
      nanoseconds(clocks.holdMs),
      '--since',
      nanoseconds(clocks.sinceMs),
    ],
    ...(frozen ? ['--frozen'] : []),
    ...['--seed', String(varied.has('random') ? SEED.varied : SEED.held)],
    ...['--order', varied.has('order') ? 'falling' : 'rising'],
    ...(varied.has('addresses') ? [] : ['--fixed-addresses']),
    ...(varied.has('host') ? ['--host', OTHER_HOST] : []),
    ...(varied.has('limits') ? ['--limits'] : []),
    ...(varied.has('processors') ? ['--processors', String(otherProcessors())] : []),
    ...(varied.has('user') ? ['--user', String(OTHER_USER)] : []),
    ...(varied.has('umask') ? ['--umask', otherUmask()] : []),
    ...(namespaces
      ? [
          '--spaces',
          ...(varied.has('network') ? ['--network'] : []),
          '--first-pid',
          String(varied.has('pids') ? FIRST_PID.varied : FIRST_PID.held),
        ]
      : []),
    ...(namespaces ? systemFiles(varied, folder).flatMap(mountOption) : []),
  ];
}

export interface VariedMount {
  readonly from: string;
  readonly at: string;
  readonly readOnly?: true;
}

export function mountOption({ from, at, readOnly }: VariedMount): string[] {
  return ['--mount', from, '--mount', at, ...(readOnly ? ['--read-only'] : [])];
}

function nanoseconds(milliseconds: number, more = 0n): string {
  return String(BigInt(Math.round(milliseconds)) * NANOSECONDS + more);
}

function otherProcessors(): number {
  return availableParallelism() > 1 ? 1 : 2;
}

function otherUmask(): string {
  return process.umask() === 0o077 ? '022' : '077';
}

/** System files from which programs read what they could also ask the kernel. */
function systemFiles(varied: ReadonlySet<Variation>, folder: string): VariedMount[] {
  const chance = chanceFile(folder, varied.has('random'));
  const uuid = keep(folder, `uuid-${varied.has('random')}`, uuidText(varied.has('random')));
  const mounts = [
    { from: chance, at: '/dev/urandom' },
    { from: chance, at: '/dev/random' },
    { from: uuid, at: '/proc/sys/kernel/random/uuid' },
    uptimeFile(folder, varied.has('clock')),
    ...processorFiles(folder, varied.has('processors')),
    ...(varied.has('host') ? hostFiles(folder) : []),
  ];
  return mounts.filter(({ at }) => existsSync(at));
}

function keep(folder: string, name: string, content: string | Buffer): string {
  const file = join(folder, name);
  if (!existsSync(file)) writeFileSync(file, content);
  return file;
}

const CHANCE_BYTES = 1024 * 1024;
/** Sparse beyond the first bytes: a device never ends, so the file must be long enough. */
const CHANCE_FILE_BYTES = 1024 * CHANCE_BYTES;

function chanceFile(folder: string, other: boolean): string {
  const cipher = createCipheriv(
    'aes-128-ctr',
    Buffer.alloc(16, other ? SEED.varied : SEED.held),
    Buffer.alloc(16),
  );
  const file = join(folder, `chance-${other}`);
  if (existsSync(file)) return file;
  writeFileSync(file, cipher.update(Buffer.alloc(CHANCE_BYTES)));
  truncateSync(file, CHANCE_FILE_BYTES);
  return file;
}

function uuidText(other: boolean): string {
  return `${other ? 'b' : 'a'}0000000-0000-4000-8000-000000000000\n`;
}

function uptimeFile(folder: string, other: boolean): VariedMount {
  const text = other ? '90000.00 90000.00\n' : '5000.00 5000.00\n';
  return { from: keep(folder, `uptime-${other}`, text), at: '/proc/uptime' };
}

function processorFiles(folder: string, other: boolean): VariedMount[] {
  const count = other ? otherProcessors() : undefined;
  const list = (name: string): VariedMount => {
    const at = `/sys/devices/system/cpu/${name}`;
    const text = count === undefined ? textOf(at) : count === 1 ? '0\n' : `0-${count - 1}\n`;
    return { from: keep(folder, `${name}-${other}`, text), at };
  };
  const info = perProcessor(textOf('/proc/cpuinfo'), /^processor\s*:\s*(\d+)/, count);
  const statistics = perProcessor(textOf('/proc/stat').replaceAll('\n', '\n\n'), /^cpu(\d+)/, count);
  return [
    { from: keep(folder, `cpuinfo-${other}`, info), at: '/proc/cpuinfo' },
    { from: keep(folder, `stat-${other}`, statistics.replaceAll('\n\n', '\n')), at: '/proc/stat' },
    ...['online', 'possible', 'present'].map(list),
  ];
}

/** The paragraphs of the first `count` processors. */
function perProcessor(text: string, numbered: RegExp, count = Number.POSITIVE_INFINITY): string {
  return text
    .split('\n\n')
    .filter((paragraph) => Number(numbered.exec(paragraph)?.[1] ?? 0) < count)
    .join('\n\n');
}

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function hostFiles(folder: string): VariedMount[] {
  const name = keep(folder, 'hostname', `${OTHER_HOST}\n`);
  const domain = keep(folder, 'domainname', `${OTHER_DOMAIN}\n`);
  return [
    ...['/proc/sys/kernel/hostname', '/etc/hostname'].map((at) => ({ from: name, at })),
    { from: domain, at: '/proc/sys/kernel/domainname' },
  ];
}
