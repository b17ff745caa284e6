// The write log: one JSON line for each result, label and path set that a client has written, and for each `forget`.
// Guarantees:
// - It never delays and never fails a request. What can't be written is counted, reported at most once a
//   minute, and noted in the log when it can be written again.
// - Its memory has a bound.
// - It has no content, no token and no URL: names, addresses and digests only.
// A process that is killed loses the lines of the last STORE.logDelayMs. The store keeps the writer of each
// result itself.
import { hash } from 'node:crypto';
import type { Hash } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import { STORE } from '../limits.ts';
import type { LabelAddress, ResultAddress, ResultOutcome, Writer } from '../store.ts';
import { LogFiles, logFolder } from './log-files.ts';

export interface LogEntry {
  readonly what: 'result' | 'label' | 'path-set' | 'forget' | 'import';
  readonly at: string;
  /** The name of the identity. */
  readonly identity: string;
  /** The address of the client. */
  readonly from: string;
  readonly protocol: string;
  readonly [more: string]: string | number | undefined | object;
}

export interface WriteLog {
  add(entry: LogEntry): void;
  /** Writes what is left. */
  close(): Promise<void>;
}

interface WriteLogOptions {
  readonly now?: () => number;
  /** Called at most once in STORE.logWarnMs. `lost`: entries that are not in the log. */
  readonly onTrouble?: (why: string, lost: number) => void;
}

/** The log of the store in `directory`. The first entry creates it. */
export function openWriteLog(directory: string, options: WriteLogOptions = {}): WriteLog {
  return new BatchedLog(new LogFiles(logFolder(directory)), options);
}

export class BatchedLog implements WriteLog {
  readonly #files: Pick<LogFiles, 'append' | 'close'>;
  readonly #now: () => number;
  readonly #onTrouble: (why: string, lost: number) => void;
  #lines: string[] = [];
  #length = 0;
  #lost = 0;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(
    files: Pick<LogFiles, 'append' | 'close'>,
    { now = Date.now, onTrouble = () => {} }: WriteLogOptions = {},
  ) {
    this.#files = files;
    this.#now = now;
    this.#onTrouble = onTrouble;
  }

  add(entry: LogEntry): void {
    const line = `${JSON.stringify(entry)}\n`;
    if (this.#length + line.length > STORE.logBufferBytes) {
      this.#lost++;
      return;
    }
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#lines.length >= STORE.logLines) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), STORE.logDelayMs).unref();
  }

  async close(): Promise<void> {
    while (this.#lines.length > 0 || this.#writing) {
      this.#flush();
      await this.#writing;
    }
    if (this.#lost > 0) await this.#write();
    await this.#files.close();
  }

  /** One write at a time. What comes meanwhile is the next one. */
  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writing || this.#lines.length === 0) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#lines.length > 0) this.#timer ??= setTimeout(() => this.#flush(), STORE.logDelayMs).unref();
    });
  }

  async #write(): Promise<void> {
    const lines = this.#lines;
    const lost = this.#lost;
    this.#lines = [];
    this.#length = 0;
    this.#lost = 0;
    const now = this.#now();
    const note = lost === 0 ? '' : `${JSON.stringify({ what: 'lost', at: timeText(now), entries: lost })}\n`;
    try {
      await this.#files.append(`${note}${lines.join('')}`, now);
    } catch (error) {
      this.#lost += lost + lines.length;
      this.#warn(messageOf(error), now);
    }
  }

  #warn(why: string, now: number): void {
    if (now - this.#warnedAt < STORE.logWarnMs) return;
    this.#warnedAt = now;
    this.#onTrouble(why, this.#lost);
  }
}

export function resultEntry(
  { namespace, key }: ResultAddress,
  outcome: ResultOutcome,
  bytes: Uint8Array,
  writer: Writer,
): LogEntry {
  return { ...byWriter('result', writer), namespace, key, outcome, result: hash('sha256', bytes) };
}

export function labelEntry(
  { namespace, label }: LabelAddress,
  key: string,
  outcome: 'stored' | 'taken',
  writer: Writer,
): LogEntry {
  return { ...byWriter('label', writer), namespace, key, outcome, label };
}

/** `address`: of the list of the action's path sets. */
export function pathSetEntry({ namespace, key }: ResultAddress, set: Hash, writer: Writer): LogEntry {
  return { ...byWriter('path-set', writer), namespace, key, set };
}

/** `selected` is what was asked for, and `removed` how many results and rivals it was. */
export function forgetEntry(selected: object, removed: number, writer: Writer): LogEntry {
  return { ...byWriter('forget', writer), removed, selected };
}

/** `results`: how many the store did not have. The writer's protocol names the bundle. */
export function importEntry(results: number, writer: Writer): LogEntry {
  return { ...byWriter('import', writer), results };
}

function byWriter(what: LogEntry['what'], { name, from, via, at }: Writer): LogEntry {
  return { at: timeText(at), what, identity: name, from, protocol: via };
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
