// What was run with a store, newest last: one JSON object a line. It serves to explain a miss; losing it loses nothing else.
import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { digestOf, type Hash, isHash } from '../../core/digest.ts';
import type { RunRequest } from '../action/request.ts';
import { RUN } from '../limits.ts';
import { clientFolder, makeClientFolder, PRIVATE_FILE } from '../local-store/client-folder.ts';

export type Outcome = 'hit-local' | 'hit-remote' | 'miss';

export interface HistoryEntry {
  readonly at: string;
  readonly workspace: string;
  /** The same for every run of the same command with the same outputs, whatever its inputs are. */
  readonly step: Hash;
  readonly key: Hash;
  /** The step of an assay.json that it was. */
  readonly name?: string | undefined;
  readonly command: readonly string[];
  readonly outcome: Outcome;
  readonly reason: string;
  /** The earlier action that a miss was compared with. */
  readonly against?: Hash | undefined;
  /** Of a command that ran: why its result was not kept. */
  readonly notKept?: string | undefined;
  /** Of a command that ran and failed. */
  readonly exitCode?: number | undefined;
  /** How long the command takes when it runs; entries of old do not tell. */
  readonly commandMs?: number | undefined;
}

/** What is noted of a run besides what was asked for. */
export interface RunNote
  extends Pick<
    HistoryEntry,
    'step' | 'key' | 'outcome' | 'reason' | 'against' | 'notKept' | 'exitCode' | 'commandMs'
  > {
  readonly at: number;
}

export class History {
  readonly #file: string;
  /** Newest first; read when first asked for, because a graph asks once for each of its misses. */
  #known: HistoryEntry[] | undefined;
  /** As far as this process knows it; asked at the first entry. */
  #size: number | undefined;
  /** Lines that are not written yet. */
  #waiting = '';

  constructor(file: string) {
    this.#file = file;
  }

  /** Newest first. Lines that are not entries (torn, foreign) are passed over. */
  entries(): readonly HistoryEntry[] {
    this.#known ??= this.#read();
    return this.#known;
  }

  #read(): HistoryEntry[] {
    let text: string;
    try {
      text = readFileSync(this.#file, 'utf8');
    } catch {
      return [];
    }
    return text
      .split('\n')
      .flatMap((line) => parseEntry(line) ?? [])
      .reverse();
  }

  append(request: RunRequest, ran: RunNote): void {
    this.buffer(request, ran);
    this.flush();
  }

  /** Written with the next entry that is appended, or by `flush`: a graph has a thousand hits to tell of. */
  buffer({ workspace, command, name }: RunRequest, { at, step, key, ...ran }: RunNote): void {
    const entry = { at: new Date(at).toISOString(), workspace, step, key, name, command, ...ran };
    this.#known?.unshift(entry);
    this.#waiting += `${JSON.stringify(entry)}\n`;
  }

  flush(): void {
    const lines = this.#waiting;
    this.#waiting = '';
    if (lines === '') return;
    try {
      if (this.#size === undefined) makeClientFolder(dirname(this.#file));
      this.#size ??= statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
      appendFileSync(this.#file, lines, PRIVATE_FILE);
      this.#size += lines.length;
      if (this.#size > RUN.historyBytes) this.#shorten();
    } catch {
      // The run itself matters more than the memory of it.
    }
  }

  #shorten(): void {
    const kept = this.#read().slice(0, RUN.historyEntries).reverse();
    const staged = `${this.#file}.${process.pid}.tmp`;
    writeFileSync(staged, kept.map((entry) => `${JSON.stringify(entry)}\n`).join(''), PRIVATE_FILE);
    renameSync(staged, this.#file);
    this.#size = undefined;
  }
}

/** Where the history of a store lies. */
export function historyOf(storeFolder: string): History {
  return new History(join(clientFolder(storeFolder), 'history.jsonl'));
}

export function stepOf({ command, workingDirectory, outputs }: RunRequest): Hash {
  return digestOf(Buffer.from(JSON.stringify([command, workingDirectory, [...outputs].sort()]))).hash;
}

function parseEntry(line: string): HistoryEntry | undefined {
  if (line === '') return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isEntry(value: unknown): value is HistoryEntry {
  if (typeof value !== 'object' || value === null) return false;
  const { at, workspace, step, key, command, outcome, reason, against, name, commandMs, ...ran } =
    value as Record<string, unknown>;
  const texts = [at, workspace, outcome, reason, name ?? '', ran.notKept ?? ''].every(
    (field) => typeof field === 'string',
  );
  const hashes = [step, key, against ?? key].every((field) => typeof field === 'string' && isHash(field));
  const numbers = [commandMs ?? 0, ran.exitCode ?? 0].every((field) => typeof field === 'number');
  return texts && hashes && numbers && Array.isArray(command);
}
