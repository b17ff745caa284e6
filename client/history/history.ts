// The history: the actions that ran with a store, one JSON object per line, newest last.
// Only explanations of misses read it; deleting it changes no hit and no result.
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { digestOf, type Hash, isHash } from '../../core/digest.ts';
import { TRY_VERDICTS, type Tries } from '../../core/metadata/run-report.ts';
import { replaceFile } from '../../system/files/replace-file.ts';
import type { RunRequest } from '../action/request.ts';
import { RUN } from '../limits.ts';
import { clientFolder, makeClientFolder, PRIVATE_FILE } from '../local-store/client-folder.ts';
import { appendPrivate, readPrivate } from '../local-store/private-file.ts';

export type Outcome = 'hit-local' | 'hit-remote' | 'miss';

export interface HistoryEntry {
  readonly at: string;
  readonly workspace: string;
  /** Equal for all runs of the same command with the same outputs, whatever the inputs are. */
  readonly step: Hash;
  readonly key: Hash;
  /** The name of the step in assay.json. */
  readonly name?: string | undefined;
  readonly command: readonly string[];
  readonly outcome: Outcome;
  readonly reason: string;
  /** The earlier action that a miss was compared with. */
  readonly against?: Hash | undefined;
  /** Where the earlier run was, if the miss was not compared with an action of this store alone. */
  readonly seen?: SeenIn | undefined;
  /** The blob with the differences, if they can't be found from the two actions (differences.ts). */
  readonly differences?: Hash | undefined;
  /** If the command ran: why its result was not published. */
  readonly notKept?: string | undefined;
  /** If the command ran and failed. */
  readonly exitCode?: number | undefined;
  /** The duration of the command when it ran; old entries lack it. */
  readonly commandMs?: number | undefined;
  /** If the command was run more than once (--retry). */
  readonly tries?: Tries | undefined;
}

/** `namespace` and `run`: at a server. */
export interface SeenIn {
  readonly namespace?: string;
  readonly run?: string;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** The part of an entry that is not in the request. */
export interface RunNote
  extends Pick<
    HistoryEntry,
    | 'step'
    | 'key'
    | 'outcome'
    | 'reason'
    | 'against'
    | 'seen'
    | 'differences'
    | 'notKept'
    | 'exitCode'
    | 'commandMs'
    | 'tries'
  > {
  readonly at: number;
}

export class ActionHistory {
  readonly #file: string;
  /** Newest first; read once, because a graph needs it for each of its misses. */
  #entries: HistoryEntry[] | undefined;
  /** The file's size without what other processes append; read at the first append. */
  #size: number | undefined;
  /** Lines that are not written yet. */
  #buffered = '';

  constructor(file: string) {
    this.#file = file;
  }

  /** Newest first. Torn and foreign lines are skipped. */
  entries(): readonly HistoryEntry[] {
    this.#entries ??= this.#read();
    return this.#entries;
  }

  #read(): HistoryEntry[] {
    let text: string;
    try {
      text = readPrivate(this.#file).toString();
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

  /** Written by the next `append` or `flush`: a graph may have a thousand hits. */
  buffer({ workspace, command, name }: RunRequest, { at, step, key, ...ran }: RunNote): void {
    const entry = { at: new Date(at).toISOString(), workspace, step, key, name, command, ...ran };
    this.#entries?.unshift(entry);
    this.#buffered += `${JSON.stringify(entry)}\n`;
  }

  flush(): void {
    const lines = this.#buffered;
    this.#buffered = '';
    if (lines === '') return;
    try {
      if (this.#size === undefined) makeClientFolder(dirname(this.#file));
      this.#size ??= statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
      appendPrivate(this.#file, lines);
      this.#size += lines.length;
      if (this.#size > RUN.historyBytes) this.#shorten();
    } catch {
      // A run does not fail because its history cannot be written.
    }
  }

  #shorten(): void {
    const kept = this.#read().slice(0, RUN.historyEntries).reverse();
    replaceFile(this.#file, kept.map((entry) => `${JSON.stringify(entry)}\n`).join(''), PRIVATE_FILE.mode);
    this.#size = undefined;
  }
}

export function historyOf(storeFolder: string): ActionHistory {
  return new ActionHistory(join(clientFolder(storeFolder), 'history.jsonl'));
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
  const hashes = [step, key, against ?? key, ran.differences ?? key].every(
    (field) => typeof field === 'string' && isHash(field),
  );
  const numbers = [commandMs ?? 0, ran.exitCode ?? 0].every((field) => typeof field === 'number');
  return (
    texts && hashes && numbers && Array.isArray(command) && (ran.tries === undefined || isTries(ran.tries))
  );
}

function isTries(value: unknown): value is Tries {
  const { exitCodes, verdict }: Record<string, unknown> = Object(value);
  return Array.isArray(exitCodes) && TRY_VERDICTS.some((known) => known === verdict);
}
