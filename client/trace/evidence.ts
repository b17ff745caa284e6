// Builds the evidence of a watched run: its findings, the Evidence message of its result, and its path set.
// A later lookup finds the result through that path set.
import { digestOf } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { type Evidence, NO_TRACER, proofOf } from '../../core/evidence.ts';
import { MACHINE, type PathSet } from '../../core/path-set.ts';
import type { Access, TraceReport } from '../../hermeticity/trace/access.ts';
import { type Finding, READ_KINDS } from '../../hermeticity/verdict/finding.ts';
import { POLICY_VERSION } from '../../hermeticity/verdict/policy-version.ts';
import { judge, type Verdict } from '../../hermeticity/verdict/verdict.ts';
import type { RunRequest } from '../action/request.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { OBSERVED } from '../limits.ts';
import { type FoundTexts, MachineTextSearch } from '../outputs/machine-text.ts';
import { timeRefusal } from '../path-sets/file-times.ts';
import { type Fact, gatherPathSet } from '../path-sets/gather.ts';
import { UNKNOWN } from '../path-sets/kernel-files.ts';
import { propertyText } from '../path-sets/machine.ts';
import type { States } from '../path-sets/states.ts';
import { withoutInputLinks } from './linked-inputs.ts';
import { machineFacts, machineTexts } from './machine-facts.ts';
import { withFolderProbes } from './output-folders.ts';
import { judgeInSandbox } from './sandbox.ts';
import { declarationOf, type Watched } from './trace.ts';

export interface RunEvidence {
  readonly findings: readonly Finding[];
  readonly evidence: Evidence;
  /** Why the result may depend on file times, if it may. Throws if a path cannot be checked. */
  timeRefusal(): string | undefined;
  /** Searches the outputs for texts of this machine. */
  outputSearch(): MachineTextSearch | undefined;
  /**
   * `found`: in the outputs. Undefined if nobody watched the run. Throws if something that the action read
   * changed while it ran.
   */
  pathSet(found?: FoundTexts): PathSet | undefined;
}

/**
 * True if the action's observed inputs cover the finding: the path is in the path set, so nothing is
 * undeclared.
 * An output of another step is not covered, because an observation does not order the two steps.
 */
export function isObserved(request: Pick<RunRequest, 'observed' | 'unordered'>, finding: Finding): boolean {
  const { kind, path = '' } = finding;
  if (!request.observed || !READ_KINDS.has(kind)) return false;
  return !request.unordered?.().has(path);
}

export function buildEvidence(action: KeyedAction, watched: Watched, states: States): RunEvidence {
  const { report, folders, where } = watched;
  const verdict =
    where === 'sandbox'
      ? judgeInSandbox(action, watched)
      : judge(accessesOf(report, action), declarationOf(action, folders, states.roots.homes));
  const findings = verdict.findings.filter((finding) => !isObserved(action.request, finding));
  return {
    findings,
    evidence: { ...evidenceOf(report, findings), sandboxed: where === 'sandbox' },
    timeRefusal: () => timeRefusal(action.request, verdict.timedReads),
    outputSearch: () => new MachineTextSearch(machineTexts(states.machine, verdict.searchesAddresses)),
    pathSet(found = new Map()) {
      const facts = [...factsOf(verdict, states), ...machineFacts(found, action.request.workspace, report)];
      return gatherPathSet(action, verdict, folders, states, facts);
    },
  };
}

function accessesOf(report: TraceReport, action: KeyedAction): TraceReport {
  const { inputs, request } = action;
  const links = inputs.links?.();
  const seen = links ? withoutInputLinks(report, links, request.workspace) : report;
  return withFolderProbes(seen, action);
}

/**
 * The evidence of a run that nobody watched: what an attempt before it, under a tracer, was seen to do. `why`: the
 * reason that nobody watched it.
 */
export function evidenceOfUnwatched(
  action: KeyedAction,
  why: string,
  attempt: Watched | undefined,
  states: States,
): RunEvidence {
  const seen = attempt ? buildEvidence(action, attempt, states) : nothingSeen();
  const { evidence } = seen;
  const gaps = [why, ...evidence.gaps];
  const { sandbox: sandboxed } = action.request;
  return { ...seen, evidence: { ...evidence, tracer: NO_TRACER, tracerVersion: '', gaps, sandboxed } };
}

function nothingSeen(): RunEvidence {
  const tracer = { name: NO_TRACER, version: '' };
  return {
    findings: [],
    evidence: { ...evidenceOf({ tracer, gaps: [], accesses: [] }, []), sandboxed: false },
    timeRefusal: () => undefined,
    outputSearch: () => undefined,
    pathSet: () => undefined,
  };
}

const NATIVE_CPU: Fact = { root: MACHINE, path: 'cpu', note: 'which code was compiled for (native)' };

/** Throws if this machine does not tell what the command asked for: nothing could be compared. */
function factsOf({ usesNativeCpu, machineFacts: asked }: AskedFacts, { machine }: States): Fact[] {
  const unknown = [...asked].find((property) => machine.state(property) === UNKNOWN);
  if (unknown !== undefined)
    throw new AssayError(
      'ASSAY_INPUT_CHANGED',
      `it asked for ${propertyText(unknown)}, which cannot be compared with that of another machine`,
    );
  const facts = [...asked].map((path): Fact => ({ root: MACHINE, path, note: '' }));
  return usesNativeCpu ? [NATIVE_CPU, ...facts] : facts;
}

type AskedFacts = Pick<Verdict, 'usesNativeCpu' | 'machineFacts'>;

function evidenceOf(
  { tracer, gaps, accesses }: Pick<TraceReport, 'tracer' | 'gaps' | 'accesses'>,
  findings: readonly Finding[],
): Omit<Evidence, 'sandboxed'> {
  // What no fact stands for comes first, so that the status follows from the findings that are listed.
  const worst = ['none', 'local', 'compared'].flatMap((proof) =>
    findings.filter((one) => proofOf(one) === proof),
  );
  const listed = worst.slice(0, OBSERVED.findings);
  return {
    tracer: tracer.name,
    tracerVersion: tracer.version,
    policy: POLICY_VERSION,
    accesses: digestOf(Buffer.from(accessList(accesses))).hash,
    findings: listed.map(({ kind, path = '', detail = '' }) => ({ kind, path, detail })),
    untoldFindings: findings.length - listed.length,
    gaps,
  };
}

function accessList(accesses: readonly Access[]): string {
  const lines = accesses.map((access) => `${access.kind} ${'path' in access ? access.path : ''}`);
  return [...new Set(lines)].sort().join('\n');
}
