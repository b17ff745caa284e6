// Now: one sentence of health, today beside the same weekday before, and what needs attention.
import type { NamespaceRange } from '../../../core/namespace.ts';
import { VERSION } from '../../../core/version.ts';
import { type Identity, seesWholeServer } from '../../../server/access/identity.ts';
import type { ScopedStore } from '../../../server/access/scoped-store.ts';
import type { ServerContext } from '../../../server/context.ts';
import type { History } from '../../../store/history.ts';
import { HOUR } from '../activity/figures.ts';
import { activityOf } from '../activity/of-server.ts';
import type { Now, Totals, Warning } from '../api/schemas/now.ts';
import { listRuns } from '../runs/runs.ts';
import { DAY, figuresIn, totalsOf } from './figures.ts';
import { tokensOf } from './storage.ts';

const NEWEST_RUNS = 10;
const NEARLY_FULL = 0.97;
const WEEK = 7 * DAY;

export async function nowAnswer(
  server: ServerContext,
  history: History,
  { identity, counted, reported }: Pick<ScopedStore, 'identity' | 'counted' | 'reported'>,
): Promise<Now> {
  const now = Date.now();
  const activity = activityOf(server);
  activity.countBytes();
  const midnight = Math.floor(now / DAY) * DAY;
  const isWhole = seesWholeServer(identity);
  const read = (from: number, to: number) =>
    activity.figures.read(history, counted, { from, to, stepMs: HOUR });
  const today = totalsOf(await read(midnight, now), isWhole);
  const weekBefore = totalsOf(await read(midnight - WEEK, now - WEEK), isWhole);
  const fault = await server.wholeStore.fault?.(!server.readOnly);
  const warnings = warningsOf(server, identity, counted, today, fault);
  return {
    at: new Date(now).toISOString(),
    version: VERSION,
    health: healthOf(fault, warnings, today, isWhole),
    isWhole,
    today,
    weekBefore,
    warnings,
    tail: activity.tail.read(counted),
    figures: await figuresIn(server, history, { counted, isWhole }, { from: now - DAY, to: now }),
    newestRuns: (await listRuns(history, reported, { limit: NEWEST_RUNS })).runs,
  };
}

function healthOf(
  fault: string | undefined,
  warnings: readonly Warning[],
  { hitRate }: Totals,
  isWhole: boolean,
): Now['health'] {
  if (fault !== undefined)
    return { status: 'fault', sentence: 'The server answers, but its store has a fault.' };
  const [first, ...more] = warnings;
  if (first) {
    const others = more.length === 0 ? '' : ` ${more.length} more need attention.`;
    return { status: 'warning', sentence: `The server works. ${first.text}${others}` };
  }
  if (hitRate === undefined)
    return { status: 'good', sentence: isWhole ? 'All is well.' : 'All is well, as far as your token sees.' };
  const rate = `${Math.round(hitRate * 100)}\u00a0% of today’s lookups were hits.`;
  return { status: 'good', sentence: `All is well. ${rate}` };
}

function warningsOf(
  server: ServerContext,
  identity: Identity,
  counted: NamespaceRange,
  { errors }: Totals,
  fault: string | undefined,
): Warning[] {
  const warnings: Warning[] = [];
  const { info } = server;
  if (seesWholeServer(identity)) {
    if (fault !== undefined)
      warnings.push({
        text: `The store has a fault: ${fault}.`,
        whatToDo: 'See the server’s log, and check the disk.',
      });
    const { space } = info;
    if (space && space.used() > NEARLY_FULL * space.limit)
      warnings.push({
        text: 'The store is full: entries that builds still need may be evicted.',
        whatToDo: 'Raise --max-size, or see Storage for what fills it.',
      });
  }
  if (errors > 0)
    warnings.push({
      text: `${errors} ${errors === 1 ? 'request' : 'requests'} of today ended with an error of the server.`,
      whatToDo: 'The server’s log says why.',
    });
  const ending = tokensOf(server, identity, counted).filter(({ expiresSoon }) => expiresSoon);
  if (ending.length > 0)
    warnings.push({
      text: `${ending.length === 1 ? `The token ${ending[0]?.name} ends` : `${ending.length} tokens end`} soon.`,
      whatToDo: 'Make a new one with `assay token`, and change it where it is used.',
    });
  return warnings;
}
