// Prints the events and the summary of a run on stderr, or one JSON object as the last line of stderr.
// The command's own output passes unchanged.
import type { EvidenceStatus } from '../../core/evidence.ts';
import { type Finding, fixText } from '../../hermeticity/verdict/finding.ts';
import { saysWhyNotKept } from '../../store/actions/miss-text.ts';
import { nextTryText, triesText } from '../retry/retry.ts';
import { colourFor } from '../terminal/colour.ts';
import type { Report, RunEvent } from '../terminal/events.ts';
import { ownLine, type Screen } from '../terminal/own-line.ts';
import { inOneLine } from '../terminal/sync-stream.ts';
import { byRank } from '../trace/finding-rank.ts';
import { findingJson } from '../trace/finding-report.ts';
import { receiptText } from './receipt.ts';
import type { RunSummary } from './run.ts';

export class Reporter {
  readonly #screen: Screen;
  readonly #json: boolean;
  readonly #verbose: boolean;
  readonly #sample: Sample | undefined;
  readonly #warnings: string[] = [];
  #notPublished: string | undefined;
  #found: readonly Finding[] = [];
  #progressShown = false;

  /** `verbose`: prints the receipt of a hit. `sample`: the hits to check. */
  constructor(screen: Screen, json: boolean, verbose = false, sample?: Sample) {
    this.#screen = screen;
    this.#json = json;
    this.#verbose = verbose;
    this.#sample = sample;
    if (sample) this.#say(`checks hits (${sampleText(sample)})`);
  }

  readonly report: Report = (event) => {
    if (event.type === 'transfer') this.#progress(event);
    else if (event.type === 'not-published') this.#notPublished = event.why;
    else if (event.type === 'sending') this.#say(sendingText(event.results));
    else if (event.type === 'waiting-for-run') this.#say(waitingText(event));
    else if (event.type === 'retried') this.#say(nextTryText(event));
    else if (event.type === 'findings') this.#findings(event);
    else this.#warn(warningText(event));
  };

  summary(summary: RunSummary): void {
    this.#clearProgress();
    if (this.#screen.isMidLine) this.#screen.write('\n');
    if (this.#json) this.#screen.write(`${JSON.stringify(this.#machineSummary(summary))}\n`);
    else this.#printSentence(summary);
    if (!this.#json && this.#verbose && summary.receipt) this.#say(receiptText(summary.receipt));
    if (!this.#json && summary.page !== undefined) this.#screen.write(`assay: ${summary.page}\n`);
  }

  /** The line of a hit is short, and a hit has no time to find out the width of the terminal. */
  #printSentence(summary: RunSummary): void {
    const text = this.#sentence(summary);
    this.#screen.write(summary.outcome === 'miss' ? ownLine(text, this.#screen) : `assay: ${text}\n`);
  }

  #machineSummary(summary: RunSummary): Record<string, unknown> {
    const { outcome, key, exitCode, status, reason, published, shared, outputsWritten } = summary;
    const { commandMs, elapsedMs, cause, diverged, tries, checked, receipt, page } = summary;
    return {
      outcome,
      key,
      exitCode,
      status,
      reason,
      ...(cause && { cause }),
      published,
      shared,
      outputsWritten,
      commandMs: Math.round(commandMs),
      elapsedMs: Math.round(elapsedMs),
      actionLease: summary.actionLease ?? 'none',
      leaseWaitedMs: summary.leaseWaitedMs ?? 0,
      ...(diverged && { diverged }),
      ...(tries && { tries }),
      ...(checked && { checked }),
      ...(this.#sample && { checkSeed: this.#sample.seed }),
      ...(receipt && { receipt }),
      ...(page !== undefined && { page }),
      ...(this.#found.length > 0 && { findings: this.#found.map(findingJson) }),
      ...(this.#notPublished !== undefined && { notPublished: this.#notPublished }),
      warnings: this.#warnings,
    };
  }

  #sentence(summary: RunSummary): string {
    const { outcome, key, reason, commandMs, elapsedMs, status, tries, checked } = summary;
    const name = key.slice(0, 12);
    if (outcome !== 'miss') {
      const where = outcome === 'hit-local' ? 'local' : 'remote';
      if (checked)
        return `${this.#colour(checked === 'same' ? 'green' : 'red', 'hit')} (${where})${checkedText(checked)} ${name}, ran ${durationText(commandMs)}`;
      return `${this.#colour('green', 'hit')} (${where}${proofMark(status)}) ${name}, ${outputsText(summary)}${savedText(commandMs - elapsedMs)}`;
    }
    return `${this.#colour('yellow', 'miss')} ${name}: ${inOneLine(reason)}; ran ${durationText(commandMs)}, ${this.#publicationText(summary)}${tries ? `; ${triesText(tries)}` : ''}`;
  }

  #publicationText({ published, shared, status, reason }: RunSummary): string {
    if (!published) return `not published${whyNotKept(this.#notPublished, reason)}`;
    const where = shared ? 'local, remote' : 'local';
    return `published (${where})${proofMark(status)}`;
  }

  /** `assay audit` prints all of them. */
  #findings(event: RunEvent & { type: 'findings' }): void {
    this.#found = event.findings;
    for (const line of findingLines(event)) this.#say(line);
  }

  #colour(colour: 'green' | 'yellow' | 'red', text: string): string {
    return colourFor(this.#screen.isTTY ?? false, process.env)(colour, text);
  }

  /** A remote that is down fails the lookup and the upload of earlier results: one warning is enough. */
  #warn(text: string): void {
    if (this.#warnings.includes(text)) return;
    this.#warnings.push(text);
    this.#say(text);
  }

  #say(text: string): void {
    this.#clearProgress();
    if (this.#screen.isMidLine) this.#screen.write('\n');
    this.#screen.write(ownLine(inOneLine(text), this.#screen));
  }

  #progress({ direction, done, of, bytes }: RunEvent & { type: 'transfer' }): void {
    if (!this.#screen.isTTY) return;
    const verb = direction === 'up' ? 'uploading' : 'downloading';
    this.#screen.write(`\r\x1b[Kassay: ${verb} ${done} of ${of} (${(bytes / 2 ** 20).toFixed(1)} MiB)`);
    this.#progressShown = true;
  }

  #clearProgress(): void {
    if (this.#progressShown) this.#screen.write('\r\x1b[K');
    this.#progressShown = false;
  }
}

/** The sample of --check-hits. */
interface Sample {
  readonly percent: number;
  readonly seed: string;
}

export function sampleText({ percent, seed }: Sample): string {
  return `--check-hits=${percent} --check-seed=${seed}`;
}

/** Behind the word "hit". */
export function checkedText(checked: NonNullable<RunSummary['checked']>): string {
  return checked === 'same' ? ', checked' : `, checked: ${checked.toUpperCase()}`;
}

type Findings = RunEvent & { type: 'findings' };

/** At most three lines, the most urgent first: what is unproven, what was left, what was read. */
function findingLines({ findings, gaps }: Findings): string[] {
  const { fix, left, advice } = byRank(findings);
  const gap = gaps.length > 0 ? `the trace is incomplete: ${gaps[0]}${others(gaps)}` : undefined;
  const lines = [
    gap,
    sample('unproven', fix),
    sample('left undeclared', left),
    sample('not declared', advice, ': see `assay audit`'),
  ].filter((line) => line !== undefined);
  if (lines.length <= MOST_LINES) return lines;
  const rest = left.length + advice.length;
  return [...lines.slice(0, MOST_LINES - 1), `not declared: ${rest} more, which \`assay audit\` groups`];
}

const MOST_LINES = 3;

/** The most urgent findings in one line. */
function findingsText(event: Findings): string {
  const [first = '', ...more] = findingLines(event);
  return more.length > 0 ? `${first}; ${more.join('; ')}` : first;
}

function sample(title: string, findings: readonly Finding[], hint = ''): string | undefined {
  const [first] = findings;
  return first && `${title}: ${findingText(first)}${others(findings)}${findings.length > 1 ? hint : ''}`;
}

function others(items: readonly unknown[]): string {
  return items.length > 1 ? ` and ${items.length - 1} more` : '';
}

function findingText({ kind, path, detail, fix }: Finding): string {
  const what = [path, detail].filter((part) => part !== undefined).join(': ');
  return `${kind} ${what}${fix ? ` (${fixText(fix)})` : ''}`;
}

export type RunWarning = Exclude<
  RunEvent,
  { type: 'transfer' | 'not-published' | 'sending' | 'waiting-for-run' | 'retried' }
>;

/** Such as "waits for ci-7 (38 s left)". A server tells names only to those who may read where it runs. */
export function waitingText({
  holder = 'another run',
  leftMs,
}: {
  holder?: string;
  leftMs?: number;
}): string {
  const left =
    leftMs === undefined
      ? ''
      : leftMs > 0
        ? ` (${durationText(1000 * Math.ceil(leftMs / 1000))} left)`
        : ' (overdue)';
  return `waits for ${holder}${left}`;
}

export function sendingText(results: number): string {
  return `sending ${results === 1 ? '1 result' : `${results} results`} to the remote`;
}

export function warningText(event: RunWarning): string {
  return inOneLine(wordsFor(event));
}

function wordsFor(event: RunWarning): string {
  switch (event.type) {
    case 'findings':
      return findingsText(event);
    case 'unwatched':
      return `the command runs unwatched: ${event.why}${event.anyCommand?.kept === false ? NOTHING_KEPT : ''}`;
    case 'not-shared':
      return `the result stays on this machine: ${event.why}`;
    case 'hit-refused':
      return `${event.why}; running the command instead`;
    case 'store-unusable':
      return `the local store is not usable, running without it: ${event.why}`;
    case 'remote-given-up':
      return `the remote is not usable, going on without it: ${event.why}`;
    case 'remote-takes-nothing':
      return `the remote takes no results, they stay in the local store: ${event.why}`;
    case 'diverged':
      return `an earlier run of this action made other outputs, and ${event.where} keeps those: the command is not deterministic (see \`assay reproduce\`)`;
    case 'unshared':
      return `${event.results === 1 ? '1 result was' : `${event.results} results were`} not shared, and will be sent by the next run or \`assay push\`: ${event.why}`;
    case 'hit-unusable':
      return `a stored result could not be used, counting it as a miss: ${event.why}`;
    case 'hit-check':
      return event.text;
    case 'resumed':
      return `starting from checkpoint ${event.checkpoint}`;
    case 'checkpoint-skipped':
      return `checkpoint ${event.checkpoint} is skipped: ${event.why}`;
    case 'checkpoints-behind':
      return `the remote is behind: ${event.arrived > 0 ? `it has checkpoint ${event.arrived}` : 'it has no checkpoint of this run'}, and ${event.sealed} is sealed here`;
    case 'unsealed':
      return `no checkpoint was taken: ${event.why}`;
    case 'state-carried':
      return `starting with ${event.from}`;
    case 'state-not-kept':
      return `its state was not kept: ${event.why}`;
    case 'caches-set-aside':
      return `out of sight while ${event.tool} runs, and back afterwards: ${event.paths.join(', ')}`;
    case 'folder-missing':
      return `${event.folder} does not exist in a clean copy, and Assay does not make it: let the command run \`mkdir -p ${event.folder}\` first`;
    case 'program-missing':
      return `${event.name} was not found on the command’s PATH (${event.path}): ${wayToProgram(event)}`;
    case 'other-runtime':
      return `the command ran ${event.ran}, not your ${event.yours}: name ${event.name} in "tools" (--tool ${event.name}) for yours`;
    case 'cache-not-put-back':
      return `${event.path} could not be put back and lies in ${event.aside}; the next run tries again`;
    case 'not-retried':
      return `not run again: ${event.why}`;
    case 'lease-over':
      return event.why;
    case 'label-refused':
      return `${event.what} stays on this machine: ${event.why}`;
    case 'waiting':
      return `waiting for another run that makes ${event.output}`;
    case 'stray-link':
      return `the input ${event.path} is a link to something that is not declared: what it points to is not in the key`;
    case 'secret-declared':
      return `${event.name} looks like a secret: a declared variable's value is stored with the action`;
  }
}

/** What to do about a program that the command did not find. */
function wayToProgram({ name, yours, hasPackage }: RunEvent & { type: 'program-missing' }): string {
  if (yours !== undefined) return `it is ${yours} on yours, so name it in "tools" (--tool ${name})`;
  if (hasPackage) return 'install the dependencies of the package, or the program itself';
  return `install it, or add its folder to your PATH and name it in "tools" (--tool ${name})`;
}

const NOTHING_KEPT =
  '. Nothing can prove such results, so nothing is kept; --keep-unproven=local, or "keepUnproven": "local" in assay.json, keeps them here';

/** The reason of a repeated miss has it already. */
export function whyNotKept(why: string | undefined, reason: string): string {
  if (why === undefined) return '';
  return saysWhyNotKept(reason, why) ? ' again' : `: ${inOneLine(why)}`;
}

/** What a line adds about a result that nothing can prove. */
export function proofMark(status: EvidenceStatus | undefined): string {
  return status === 'unproven' || status === 'unwatched' ? `, ${status}` : '';
}

function outputsText({ outputsWritten }: RunSummary): string {
  if (outputsWritten === 0) return 'outputs already in place';
  return outputsWritten === 1 ? '1 output restored' : `${outputsWritten} outputs restored`;
}

/** Empty if the hit took as long as the command. */
export function savedText(milliseconds: number): string {
  return milliseconds < 1 ? '' : `, saved ${durationText(milliseconds)}`;
}

export function durationText(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}
