// What `assay run --json` told about each step: of a single command, or of the steps of a graph.
// Logs are without gates and without the path of the workspace, so that two clones can be compared.
import type { Ended } from './gates.ts';
import type { Step } from './plan.ts';
import { withoutPath } from './tree.ts';

export interface StepResult {
  readonly outcome: string;
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly published: boolean;
  readonly shared: boolean;
  readonly reason: string;
  readonly diverged: boolean;
}

export interface Outcome {
  readonly results: ReadonlyMap<string, StepResult>;
  /** Assay refused the request, with this code of its catalogue. */
  readonly refused?: string;
}

export const isHit = ({ outcome }: StepResult) => outcome.startsWith('hit');

export function logOf(text: string, workspace: string): string {
  return withoutPath(text, workspace).replaceAll(/@gate \d+\n/g, '');
}

type Json = Readonly<Record<string, unknown>>;

export function outcomeOf(ended: Ended, step: Step, isGraph: boolean, workspace: string): Outcome {
  return isGraph ? ofGraph(ended, workspace) : ofCommand(ended, step, workspace);
}

function ofCommand({ stdout, stderr }: Ended, { name }: Step, workspace: string): Outcome {
  const lines = stderr.trimEnd().split('\n');
  const summary = parse(lines.pop() ?? '');
  if (summary?.error) return { results: new Map(), refused: codeOf(stderr) };
  if (!summary) throw new Error(`no summary:\n${stdout}\n${stderr}`);
  const own = lines.filter((line, index) => !isOwn(line, lines[index - 1] ?? '')).map((line) => `${line}\n`);
  const logs = { stdout: logOf(stdout, workspace), stderr: logOf(own.join(''), workspace) };
  return { results: new Map([[name, resultOf(summary, logs)]]) };
}

/** Assay's own lines, and the second lines of its messages. */
function isOwn(line: string, before: string): boolean {
  return line.startsWith('assay: ') || (line.startsWith('       ') && before.startsWith('assay: '));
}

function ofGraph({ stdout, stderr }: Ended, workspace: string): Outcome {
  const events = stdout.split('\n').flatMap((line) => parsed(line));
  if (!events.some(({ type }) => type === 'run-finished'))
    return { results: new Map(), refused: codeOf(stderr) };
  const logs = new Map<string, { stdout: string; stderr: string }>();
  for (const { type, step, stream, text } of events) {
    if (type !== 'step-log' || (stream !== 'stdout' && stream !== 'stderr')) continue;
    const log = logs.get(String(step)) ?? { stdout: '', stderr: '' };
    logs.set(String(step), log);
    log[stream] += String(text);
  }
  // Uploads go on after a step has ended; at the end all are counted.
  const isSent = events.some(({ type, unshared }) => type === 'run-finished' && unshared === 0);
  const results = new Map<string, StepResult>();
  for (const event of events) {
    const { type, step } = event;
    if (type !== 'step-finished') continue;
    const { stdout: out, stderr: err } = logs.get(String(step)) ?? { stdout: '', stderr: '' };
    results.set(
      String(step),
      resultOf(
        { ...event, shared: event.shared === true || (event.published === true && isSent) },
        { stdout: logOf(out, workspace), stderr: logOf(err, workspace) },
      ),
    );
  }
  const refusal = events.find(({ type, exitCode }) => type === 'step-finished' && exitCode === 125);
  return refusal ? { results, refused: codeOf(String(refusal.reason)) } : { results };
}

function resultOf(json: Json, logs: Pick<StepResult, 'stdout' | 'stderr'>): StepResult {
  return {
    outcome: String(json.outcome),
    exitCode: Number(json.exitCode),
    ...logs,
    published: json.published === true,
    shared: json.shared === true,
    reason: String(json.notPublished ?? json.reason ?? ''),
    diverged: json.diverged === true,
  };
}

function parsed(line: string): Json[] {
  const json = parse(line);
  return json ? [json] : [];
}

function codeOf(text: string): string {
  return /ASSAY_[A-Z_]+/.exec(text)?.[0] ?? text.slice(0, 500);
}

function parse(line: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
