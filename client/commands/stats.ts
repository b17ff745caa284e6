// `assay stats`: hits and time saved, by day and by step.
import {
  type CommandModule,
  type FlagTable,
  parseFlags,
  parseNumber,
  usage,
} from '../../core/cli/command.ts';
import { currentFolder } from '../files/current-folder.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { allRuns, ranIn } from '../report/all-runs.ts';
import type { GraphRun } from '../report/graph-runs.ts';
import { durationText } from '../run/reporter.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { bytesText, counted } from '../view/words.ts';
import { STORE_FLAGS } from './store-flags.ts';

const flags = {
  ...STORE_FLAGS,
  days: { type: 'string', value: 'N', text: 'how many days back (default: 30)' },
  all: { type: 'boolean', text: 'of every workspace, not only this one' },
} satisfies FlagTable;

const DAY = 24 * 60 * 60 * 1000;
const MOST_STEPS = 20;

interface Savings {
  readonly hits: number;
  readonly runs: number;
  readonly failures: number;
  readonly savedMs: number;
  readonly spentMs: number;
}

const NOTHING: Savings = { hits: 0, runs: 0, failures: 0, savedMs: 0, spentMs: 0 };

export const statsCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay stats [FLAGS]',
    text: 'Shows the hit rate, the time saved and the bytes moved by runs in this workspace: in total, by day, and by step or command.',
    flags,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: { '0': 'shown, even if nothing was run', '2': 'Assay refused its arguments' },
    examples: ['assay stats', 'assay stats --days 7 --json'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay stats takes no arguments');
    const days = parseNumber('--days', parsed.text('days') ?? '30', 1, 3650);
    const since = new Date(Date.now() - days * DAY).toISOString();
    const here = currentFolder();
    const runs = allRuns(storeFolder(parsed.text('store'), process.env)).filter(
      (run) => run.at >= since && (parsed.given('all') || ranIn(here, run)),
    );
    const stats = statsOf(runs);
    new SyncStream(1).write(parsed.given('json') ? `${JSON.stringify(stats)}\n` : text(stats, days));
    return 0;
  },
};

interface Stats {
  readonly runs: number;
  readonly total: Savings;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly byDay: Readonly<Record<string, Savings>>;
  readonly byStep: Readonly<Record<string, Savings>>;
}

function statsOf(runs: readonly GraphRun[]): Stats {
  const byDay = new Map<string, Savings>();
  const byStep = new Map<string, Savings>();
  let total = NOTHING;
  for (const { at, steps } of runs) {
    for (const [step, outcome, commandMs, elapsedMs] of steps) {
      const savings = savingsOf(outcome, commandMs, elapsedMs);
      total = sum(total, savings);
      byDay.set(at.slice(0, 10), sum(byDay.get(at.slice(0, 10)) ?? NOTHING, savings));
      byStep.set(step, sum(byStep.get(step) ?? NOTHING, savings));
    }
  }
  return {
    runs: runs.length,
    total,
    bytesUp: runs.reduce((all, run) => all + run.bytesUp, 0),
    bytesDown: runs.reduce((all, run) => all + run.bytesDown, 0),
    byDay: Object.fromEntries(byDay),
    byStep: Object.fromEntries(
      [...byStep].sort(([, a], [, b]) => b.savedMs + b.spentMs - a.savedMs - a.spentMs),
    ),
  };
}

function savingsOf(outcome: string, commandMs: number, elapsedMs: number): Savings {
  if (outcome.startsWith('hit')) return { ...NOTHING, hits: 1, savedMs: Math.max(0, commandMs - elapsedMs) };
  if (outcome === 'skipped' || outcome === 'interrupted') return NOTHING;
  return { ...NOTHING, runs: 1, failures: outcome === 'failed' ? 1 : 0, spentMs: commandMs };
}

function sum(a: Savings, b: Savings): Savings {
  return {
    hits: a.hits + b.hits,
    runs: a.runs + b.runs,
    failures: a.failures + b.failures,
    savedMs: a.savedMs + b.savedMs,
    spentMs: a.spentMs + b.spentMs,
  };
}

function text({ runs, total, bytesUp, bytesDown, byDay, byStep }: Stats, days: number): string {
  if (runs === 0) return `nothing was run here in the last ${counted(days, 'day')}\n`;
  const steps = Object.entries(byStep);
  const lines = [
    `${counted(runs, 'run')} in the last ${counted(days, 'day')}: ${line(total)}`,
    `moved: ${bytesText(bytesDown)} down, ${bytesText(bytesUp)} up`,
    '',
    'by day',
    ...Object.entries(byDay).map(([day, savings]) => `  ${day}  ${line(savings)}`),
    '',
    'by step or command',
    ...steps.slice(0, MOST_STEPS).map(([step, savings]) => `  ${step}  ${line(savings)}`),
    ...(steps.length > MOST_STEPS ? [`  … and ${steps.length - MOST_STEPS} more`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

function line({ hits, runs, failures, savedMs, spentMs }: Savings): string {
  const rate = hits + runs === 0 ? 0 : Math.round((100 * hits) / (hits + runs));
  const failed = failures > 0 ? `, ${failures} failed` : '';
  return `${rate} % hits (${hits} of ${hits + runs})${failed}, saved ${durationText(savedMs)}, spent ${durationText(spentMs)}`;
}
