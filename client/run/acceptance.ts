// Decides which stored results a run accepts, and which of its own it keeps and shares, by the evidence.
//
//   status      kept and accepted here       shared, and accepted from a remote
//   declared    yes                          yes
//   observed    yes                          yes, unless it holds only in this workspace (whyLocal)
//   unproven    --keep-unproven=local        --keep-unproven=shared
//   unwatched   the same                     the same
//
// --hermetic=strict takes `declared` only, and only by its own policy: another one may have missed something.
// --hermetic=off also keeps its own unwatched result, here. Only runs with --hermetic=off accept that one.
// An observed result is safe to share: its path set holds everything that its run saw beyond the declaration,
// and a lookup finds it only while all of that is the same.
// Results of other clients, and of machines without a tracer, are unwatched.
import {
  type Evidence,
  evidenceStatusOf,
  type FindingEvidence,
  isForUnwatchedRuns,
  lacksProof,
  proofOf,
  WATCHING_OFF,
} from '../../core/evidence.ts';
import { POLICY_VERSION } from '../../hermeticity/verdict/policy-version.ts';
import type { RunRequest } from '../action/request.ts';

type Wanted = Pick<RunRequest, 'hermetic' | 'keepUnproven' | 'observed' | 'name'>;

/** The value of --keep-unproven that a refusal proposes. */
type Remedy = 'local' | 'shared';

/** What is wrong with a result of the local store; undefined if it is accepted. */
export function localRefusal(
  evidence: Evidence | undefined,
  request: Wanted,
  remedy: Remedy = 'local',
): string | undefined {
  const status = evidenceStatusOf(evidence);
  if (request.hermetic === 'strict') {
    if (status !== 'declared') return `${status}, not declared`;
    const policy = evidence?.policy;
    return policy === POLICY_VERSION ? undefined : `judged by ${policy}, not ${POLICY_VERSION}`;
  }
  if (status === 'unwatched' && request.observed)
    return 'unwatched, and its inputs are what a run is seen to read';
  if (evidence && isForUnwatchedRuns(evidence) && !isUnwatched(request))
    return `unwatched: ${WATCHING_OFF}, and only such a run takes it`;
  const why = keepRefusal(evidence, request, remedy);
  return why && `${status}: ${why}`;
}

/** Why a result of a remote, or one that came with a bundle, is refused; undefined if it is accepted. */
export function remoteRefusal(
  evidence: Evidence | undefined,
  request: Wanted,
  which = 'the remote’s result',
): string | undefined {
  const keepUnproven = request.keepUnproven === 'shared' ? 'shared' : 'no';
  const hermetic = request.hermetic === 'strict' ? 'strict' : 'warn';
  const fault = localRefusal(evidence, { ...request, hermetic, keepUnproven }, 'shared');
  if (fault !== undefined) return `${which} is ${fault}`;
  const local = whyLocal(evidence);
  return local && `${which} holds on one machine only: ${local}`;
}

/** Why the result of a run that just ended is not kept; undefined if it is. */
export function keepRefusal(
  evidence: Evidence | undefined,
  request: Wanted,
  remedy: Remedy = 'local',
): string | undefined {
  const status = evidenceStatusOf(evidence);
  if (!lacksProof(status) || request.keepUnproven !== 'no') return undefined;
  return status === 'unwatched' && isUnwatched(request) ? undefined : unprovenText(evidence, request, remedy);
}

/** Why a result that is kept is not shared; undefined if it is. */
export function whyLocal(evidence: Evidence | undefined, request?: Wanted): string | undefined {
  const left = evidence?.findings.find((finding) => proofOf(finding) === 'local');
  if (left?.kind === 'write') return `its command left ${left.path}, which no output names`;
  if (left) return `${left.path} ${left.detail}, outside the workspace`;
  const status = evidenceStatusOf(evidence);
  return request && lacksProof(status) && request.keepUnproven !== 'shared' ? `it is ${status}` : undefined;
}

/** The run asked not to be watched. Observed inputs are watched nevertheless. */
function isUnwatched({ hermetic, observed }: Wanted): boolean {
  return hermetic === 'off' && !observed;
}

function unprovenText(evidence: Evidence | undefined, { name }: Wanted, remedy: Remedy): string {
  const set = name === undefined ? `--keep-unproven=${remedy}` : `"keepUnproven": "${remedy}" in assay.json`;
  const verb = remedy === 'local' ? 'keeps' : 'takes';
  return `${reasonOf(evidence)}, so nothing can prove its result (${set} ${verb} it)`;
}

function reasonOf(evidence: Evidence | undefined): string {
  const finding = evidence?.findings.find((one) => proofOf(one) === 'none');
  if (finding) return wordsFor(finding);
  const gap = evidence?.gaps[0];
  if (evidenceStatusOf(evidence) === 'unwatched') return `nobody watched it${gap ? `: ${gap}` : ''}`;
  return `not all that it did was seen: ${gap ?? ''}`;
}

function wordsFor({ kind, path, detail }: FindingEvidence): string {
  switch (kind) {
    case 'net':
      return `it used the network: ${detail}`;
    case 'unix':
      return `it connected to a socket of another program: ${path || detail}`;
    case 'setuid':
      return `it ran ${path}, whose file gives it other rights`;
    case 'survivor':
      return 'it left a process running';
    case 'write':
      return `it wrote outside the workspace: ${path}`;
    case 'mutate':
      return `it changed its own input ${path}`;
    case 'delete':
      return `it removed ${path}`;
    default:
      return `it depends on what no fact can stand for: ${kind} ${path || detail}`;
  }
}
