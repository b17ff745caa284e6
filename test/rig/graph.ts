// Runs steps of a workshop's assay.json and reads the events.
import type { GraphSummary, StepEnd } from '../../client/view/events.ts';
import type { Ran, RunOptions, Workshop } from './assay.ts';

export interface GraphRan extends Ran {
  readonly events: readonly { readonly type: string; readonly step?: string; readonly text?: string }[];
  /** By step. */
  readonly ends: Readonly<Record<string, StepEnd>>;
  readonly outcomes: Readonly<Record<string, string>>;
  readonly summary: GraphSummary;
}

export async function runSteps(
  shop: Workshop,
  args: readonly string[],
  options: RunOptions = {},
): Promise<GraphRan> {
  return eventsOf(await shop.assay(['run', '--json', ...args], options));
}

/** What `assay run --json STEP` has told. */
export function eventsOf(ran: Ran): GraphRan {
  if (ran.stdout === '') throw new Error(`no events; it said:\n${ran.stderr}`);
  const events = ran.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const ends: Record<string, StepEnd> = {};
  for (const event of events) if (event.type === 'step-finished') ends[event.step] = event;
  return {
    ...ran,
    events,
    ends,
    outcomes: Object.fromEntries(Object.values(ends).map(({ step, outcome }) => [step, outcome])),
    summary: events.at(-1),
  };
}

export interface Moment {
  readonly type: string;
  readonly step: string;
}

/** The same, and does `then` once, when that event has come. */
export async function runStepsAndAt(
  shop: Workshop,
  args: readonly string[],
  { type, step }: Moment,
  then: () => unknown,
): Promise<GraphRan> {
  let isCome = false;
  let done: unknown;
  const onSaid = ({ stdout }: Pick<Ran, 'stdout'>) => {
    if (isCome || !stdout.split('\n').slice(0, -1).some(isMoment)) return;
    isCome = true;
    done = then();
  };
  const isMoment = (line: string) => {
    const event: unknown = JSON.parse(line);
    return isRecord(event) && event.type === type && event.step === step;
  };
  const ran = await runSteps(shop, args, { onSaid });
  if (!isCome) throw new Error(`there was no ${type} of ${step}:\n${ran.stdout}`);
  await done;
  return ran;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
