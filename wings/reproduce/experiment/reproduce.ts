// Checks whether an action gives the same result in another place and at another time. Runs it again from
// clean copies with every external fact fixed or varied, and reports what the result depends on.

import type { Reproduction, VariationReport } from '../../../hermeticity/reproduction.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../../system/files/temporary-folder.ts';
import { absPath, isAtOrBelow, readable } from '../../../system/paths/absolute-path.ts';
import { REPRODUCE } from '../limits.ts';
import { type Cause, causeFindings, stateFinding } from './causes.ts';
import { describeDifference, subjectKey, subjectsThatDiffer } from './comparison.ts';
import { capabilitiesOf, reproduceHelperPath } from './helper.ts';
import { CauseSearch } from './search.ts';
import { type RepeatableAction, type TrialOutcome, type TrialSetup, Trials } from './trial.ts';
import { ALL_VARIATIONS, IN_NAMESPACES, VARIATIONS, type Variation } from './variation.ts';

interface ReproduceRequest {
  readonly action: RepeatableAction;
  /** The exit code and duration of the ordinary run, without any simulation. */
  readonly ordinaryRun?: { readonly exitCode: number; readonly tookMs: number };
  /** Other values of variables that are fixed in the key: tried, but never a finding. */
  readonly fixedVariables: Readonly<Record<string, string>>;
  now(): number;
  readonly helper?: string;
  readonly signal?: AbortSignal;
  readonly onTrial?: TrialSetup['onTrial'];
}

export async function reproduce(request: ReproduceRequest): Promise<Reproduction> {
  const helper = request.helper ?? reproduceHelperPath();
  const { noNamespaces } = await capabilitiesOf(helper);
  const root = temporaryFolder('reproduce');
  const took = (request.ordinaryRun?.tookMs ?? 0) * REPRODUCE.slowness;
  const { onTrial } = request;
  const lab: TrialSetup = {
    helper,
    root,
    namespaces: noNamespaces === undefined,
    // If the workspace contains the temporary folder, mounting over it would hide the run's own files.
    overlay: noNamespaces === undefined && !isAtOrBelow(absPath(root), absPath(request.action.workspace)),
    holdMs: Math.max(REPRODUCE.holdMs, took),
    limitMs: Math.max(REPRODUCE.runMs, took),
    frozenLimitMs: Math.max(REPRODUCE.frozenRunMs, took),
    signal: request.signal,
    ...(onTrial && { onTrial }),
  };
  try {
    return await compare(new Trials(request.action, lab, request.now), request, noNamespaces);
  } finally {
    removeTemporaryFolder(root);
  }
}

async function compare(
  trials: Trials,
  request: ReproduceRequest,
  noSpaces: string | undefined,
): Promise<Reproduction> {
  const baseline = trials.keep(await trials.run({ varied: [] }), 'still');
  const gap = gapOf(baseline, request.ordinaryRun?.exitCode);
  if (gap !== undefined) {
    const variations = reportEach((name) => notTried(name, gap));
    return { findings: [], variations, runs: trials.count, gaps: [gap] };
  }
  const possible = ALL_VARIATIONS.filter((name) => noSpaces === undefined || !IN_NAMESPACES.has(name));
  const causes = await new CauseSearch(trials, possible).causes(baseline);
  const variations = reportEach((name) => outcomeOf(name, causes, noSpaces));
  const state = await tryState(trials, baseline, causes, request.action.state);
  const fixed = await tryFixedVariables(trials, baseline, causes, request.fixedVariables);
  return {
    findings: [...causeFindings(causes, readable), ...state.findings],
    variations: [...variations, ...state.variations, ...fixed],
    runs: trials.count,
    gaps: [],
  };
}

/** A command that fails only in a copy was not reproduced, so its results prove nothing. */
function gapOf(
  { exitCode, timedOut, stderr }: TrialOutcome,
  natural: number | undefined,
): string | undefined {
  const instead = 'in a copy of its inputs the command';
  const nothing = 'so nothing could be compared';
  if (timedOut) return `${instead} did not end in time, ${nothing}`;
  if (exitCode === (natural ?? 0)) return undefined;
  const expected = natural === undefined ? '' : ` instead of ${natural}`;
  const said = stderr.toString('utf8').trimEnd().split('\n').at(-1) ?? '';
  return `${instead} ended with ${exitCode}${expected}, ${nothing}${said === '' ? '' : `: ${said}`}`;
}

function reportEach(report: (name: Variation) => VariationReport): VariationReport[] {
  return ALL_VARIATIONS.map(report);
}

function notTried(name: Variation, reason: string): VariationReport {
  return { name, what: VARIATIONS[name].what, outcome: 'not tried', reason };
}

/** Programs also read these from files, which can be replaced only with namespaces. */
const BY_FILE_TOO: ReadonlySet<Variation> = new Set(['random', 'processors', 'host']);

function outcomeOf(name: Variation, causes: readonly Cause[], noSpaces: string | undefined): VariationReport {
  if (noSpaces !== undefined && IN_NAMESPACES.has(name))
    return notTried(name, `no namespaces here: ${noSpaces}`);
  const outcome = causes.some(({ by }) => by === name) ? 'differs' : 'same';
  const whole = { name, what: VARIATIONS[name].what, outcome } as const;
  if (noSpaces === undefined || !BY_FILE_TOO.has(name)) return whole;
  return { ...whole, reason: `tested for system calls only; files cannot be replaced here: ${noSpaces}` };
}

/** State must not change the result. Uses the state of an earlier run, or else what the clean run left. */
async function tryState(
  trials: Trials,
  still: TrialOutcome,
  causes: readonly Cause[],
  { paths, earlier }: RepeatableAction['state'],
): Promise<Pick<Reproduction, 'findings' | 'variations'>> {
  if (paths.length === 0) return { findings: [], variations: [] };
  const outcome = await trials.run({ varied: [], stateFrom: earlier ?? still.folder });
  const explained = subjectsOf(causes);
  const differing = subjectsThatDiffer(still, outcome).filter(
    (subject) => !explained.has(subjectKey(subject)),
  );
  const what = earlier === undefined ? 'the state that a clean run leaves' : 'the state of an earlier run';
  const variation = { name: 'state', what };
  const [first] = differing;
  if (!first) return { findings: [], variations: [{ ...variation, outcome: 'same' }] };
  const { description } = describeDifference(first, still, outcome, false);
  return {
    findings: [stateFinding({ subjects: differing, description, what }, readable)],
    variations: [{ ...variation, outcome: 'differs' }],
  };
}

function subjectsOf(causes: readonly Cause[]): Set<string> {
  return new Set(causes.flatMap(({ subjects }) => subjects.map(subjectKey)));
}

/** Each alone. Reported for information: the value is the same for everybody. */
async function tryFixedVariables(
  trials: Trials,
  still: TrialOutcome,
  causes: readonly Cause[],
  variables: Readonly<Record<string, string>>,
): Promise<VariationReport[]> {
  const explained = subjectsOf(causes);
  const reports: VariationReport[] = [];
  for (const [name, value] of Object.entries(variables)) {
    const outcome = await trials.run({ varied: [], replaced: { [name]: value } });
    const matters = subjectsThatDiffer(still, outcome).some((subject) => !explained.has(subjectKey(subject)));
    const what = `the variable ${name}, set to ${value}`;
    const reason = `${name} is fixed and in the key, so this is no finding`;
    reports.push(matters ? { name, what, outcome: 'differs', reason } : { name, what, outcome: 'same' });
  }
  return reports;
}
