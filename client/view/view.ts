// Chooses the view of a run (JSON, live terminal or plain lines), and writes the summary files at the end.
import { appendFileSync } from 'node:fs';
import { type ParsedFlags, usage } from '../../core/cli/command.ts';
import { messageOf } from '../../core/errors.ts';
import type { Variables } from '../action/environment.ts';
import { warningText } from '../run/reporter.ts';
import { colourFor } from '../terminal/colour.ts';
import type { RunEvent } from '../terminal/events.ts';
import { jsonForm } from '../terminal/json-form.ts';
import { ownLine } from '../terminal/own-line.ts';
import { SyncStream, type Writable } from '../terminal/sync-stream.ts';
import { BufferedStreams } from './buffered-streams.ts';
import { ciSyntax } from './ci.ts';
import type { GraphEvent, GraphSummary, StepEnd } from './events.ts';
import { JsonView } from './json-view.ts';
import { LiveView } from './live-view.ts';
import { LOG_MODES, type LogMode, type Streams } from './log-printer.ts';
import { markdownOf } from './markdown.ts';
import { PlainView } from './plain-view.ts';
import { RunCounter } from './run-totals.ts';
import { prepareSummary, summaryPage, writeSummary } from './summary-file.ts';

interface View {
  handle(event: GraphEvent): void;
  /** A warning about the caches as a whole, not about one step. */
  warn(event: RunEvent): void;
  /** The steps that have ended so far. */
  readonly ends: readonly StepEnd[];
  /** Writes the summary files that were asked for. */
  finish(summary: GraphSummary): void;
}

export type ViewFlag = 'json' | 'logs' | 'summary' | 'verbose';

export function openView(flags: ParsedFlags<ViewFlag>, variables: Variables): View {
  const stderr = new SyncStream(2);
  const streams = new BufferedStreams({ stdout: new SyncStream(1), stderr });
  const totals = new RunCounter();
  const summaryFile = flags.text('summary');
  if (summaryFile !== undefined) prepareSummary(summaryFile);
  const shown = chooseView(flags, variables, streams, stderr.isTTY, totals);
  return {
    ends: totals.ends,
    handle(event) {
      totals.handle(event);
      shown.handle(event);
    },
    warn(event) {
      if (
        event.type !== 'transfer' &&
        event.type !== 'not-published' &&
        event.type !== 'sending' &&
        event.type !== 'waiting-for-run' &&
        event.type !== 'retried'
      )
        streams.stderr.write(ownLine(warningText(event), stderr));
    },
    finish(summary) {
      streams.flush();
      if (summaryFile !== undefined)
        warnOnError(streams.stderr, () => writeSummary(summaryFile, summary, totals.ends));
      const jobSummary = variables.GITHUB_STEP_SUMMARY;
      if (jobSummary)
        warnOnError(streams.stderr, () =>
          appendFileSync(jobSummary, markdownOf(summaryPage(summary, totals.ends))),
        );
      streams.flush();
    },
  };
}

function chooseView(
  flags: ParsedFlags<ViewFlag>,
  variables: Variables,
  streams: Streams,
  isTerminal: boolean,
  totals: RunCounter,
): Pick<View, 'handle'> {
  const now = Date.now;
  const json = jsonForm(flags);
  if (json === 'short') return { handle() {} };
  if (json === 'all') return new JsonView(streams.stdout);
  const isLive = isTerminal && variables.TERM !== 'dumb' && !variables.CI;
  const logs = logMode(flags.text('logs'), isLive);
  const verbose = flags.given('verbose');
  if (!isLive) return new PlainView({ streams, logs, totals, ci: ciSyntax(variables), verbose, now });
  const columns = () => process.stderr.columns || 80;
  return new LiveView({
    screen: streams.stderr,
    logs,
    totals,
    colour: colourFor(true, variables),
    verbose,
    columns,
    now,
  });
}

function logMode(text: string | undefined, isLive: boolean): LogMode {
  const mode = LOG_MODES.find((one) => one === (text ?? (isLive ? 'failed' : 'group')));
  if (!mode) throw usage(`--logs takes ${LOG_MODES.join(', ')}, not ${JSON.stringify(text)}`);
  return mode;
}

/** A summary that cannot be written does not fail the build. */
function warnOnError(stderr: Writable, work: () => void): void {
  try {
    work();
  } catch (error) {
    stderr.write(`assay: the summary could not be written: ${messageOf(error)}\n`);
  }
}
