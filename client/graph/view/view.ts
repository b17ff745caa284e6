// Which view a run gets: JSON if asked for, a live one on a terminal, plain lines elsewhere; and what is written at the end.
import { appendFileSync } from 'node:fs';
import { type ParsedFlags, usage } from '../../../core/cli/command.ts';
import { messageOf } from '../../../core/errors.ts';
import type { Variables } from '../../action/environment.ts';
import { warningText } from '../../run/reporter.ts';
import { paintFor } from '../../terminal/colour.ts';
import type { RunEvent } from '../../terminal/events.ts';
import { type Ear, Outlet } from '../../terminal/sync-stream.ts';
import { ciSyntax } from './ci.ts';
import type { GraphEvent, GraphSummary, StepEnd } from './events.ts';
import { GatheredEars } from './gathered-ears.ts';
import { JsonView } from './json-view.ts';
import { LiveView } from './live-view.ts';
import { type Ears, LOG_MODES, type LogMode } from './log-printer.ts';
import { markdownOf } from './markdown.ts';
import { PlainView } from './plain-view.ts';
import { Tally } from './run-totals.ts';
import { prepareSummary, writeSummary } from './summary-file.ts';

export interface View {
  hear(event: GraphEvent): void;
  /** Of the caches as a whole, not of one step. */
  warn(event: RunEvent): void;
  /** How the steps ended, so far. */
  readonly ends: readonly StepEnd[];
  /** Writes the files that were asked for. */
  finish(summary: GraphSummary): void;
}

export function openView(flags: ParsedFlags, variables: Variables): View {
  const stderr = new Outlet(2);
  const ears = new GatheredEars({ stdout: new Outlet(1), stderr });
  const tally = new Tally();
  const summaryFile = flags.text('summary');
  if (summaryFile !== undefined) prepareSummary(summaryFile);
  const shown = chooseView(flags, variables, ears, stderr.isTTY, tally);
  return {
    ends: tally.ends,
    hear(event) {
      tally.hear(event);
      shown.hear(event);
    },
    warn(event) {
      if (event.type !== 'transfer' && event.type !== 'not-published' && event.type !== 'sending')
        ears.stderr.write(`assay: ${warningText(event)}\n`);
    },
    finish(summary) {
      ears.flush();
      if (summaryFile !== undefined)
        quietly(ears.stderr, () => writeSummary(summaryFile, summary, tally.ends));
      const jobSummary = variables.GITHUB_STEP_SUMMARY;
      if (jobSummary) quietly(ears.stderr, () => appendFileSync(jobSummary, markdownOf(summary, tally.ends)));
      ears.flush();
    },
  };
}

function chooseView(
  flags: ParsedFlags,
  variables: Variables,
  ears: Ears,
  isTerminal: boolean,
  tally: Tally,
): Pick<View, 'hear'> {
  const now = Date.now;
  if (flags.given('json')) return new JsonView(ears.stdout);
  const isLive = isTerminal && variables.TERM !== 'dumb' && !variables.CI;
  const logs = logMode(flags.text('logs'), isLive);
  if (!isLive) return new PlainView({ ears, logs, tally, ci: ciSyntax(variables), now });
  const columns = () => process.stderr.columns || 80;
  return new LiveView({ screen: ears.stderr, logs, tally, paint: paintFor(true, variables), columns, now });
}

function logMode(text: string | undefined, isLive: boolean): LogMode {
  const mode = LOG_MODES.find((one) => one === (text ?? (isLive ? 'failed' : 'group')));
  if (!mode) throw usage(`--logs takes ${LOG_MODES.join(', ')}, not ${JSON.stringify(text)}`);
  return mode;
}

/** What somebody wants to read afterwards is no reason to fail a build. */
function quietly(stderr: Ear, work: () => void): void {
  try {
    work();
  } catch (error) {
    stderr.write(`assay: the summary could not be written: ${messageOf(error)}\n`);
  }
}
