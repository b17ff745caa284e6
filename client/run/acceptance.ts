// Decides which stored results a run accepts, by the evidence in the result.
//
//   evidence                  from the local store        from a remote
//   clean                     accepted                    accepted
//   clean by another policy   accepted, but not strict    accepted, but not strict
//   marked                    accepted, but not strict    with --accept-marked, but not strict
//   unwatched                 accepted, but not strict    accepted, but not strict
//
// "not strict": a run with --hermetic=strict refuses the result.
// A marked local result is safe: its path set holds everything that its run read beyond the declaration, so a
// lookup finds it only while all of that is unchanged. Network and time cannot be checked; each run reports
// them again.
// Results of other clients, and of machines without a tracer, are unwatched.
import { type Evidence, type EvidenceStatus, evidenceStatusOf } from '../../core/evidence.ts';
import { POLICY_VERSION } from '../../hermeticity/verdict/policy-version.ts';
import type { RunRequest } from '../action/request.ts';

type Wanted = Pick<RunRequest, 'hermetic' | 'acceptMarked' | 'name'>;

/** Strict runs refuse the verdict of another policy: it may have missed findings of this one. */
export function acceptsLocal(evidence: Evidence | undefined, { hermetic }: Wanted): boolean {
  if (hermetic !== 'strict') return true;
  return evidenceStatusOf(evidence) === 'clean' && evidence?.policy === POLICY_VERSION;
}

/** Why a result of a remote is refused; undefined if it is accepted. */
export function remoteRefusal(evidence: Evidence | undefined, request: Wanted): string | undefined {
  const standing = evidenceStatusOf(evidence);
  if (!acceptsLocal(evidence, request))
    return `the remote has a result that is ${shortcomingOf(standing, evidence?.policy)}`;
  if (standing !== 'marked' || request.acceptMarked) return undefined;
  return `the remote has a result that is marked: ${reasonOf(evidence)} (${request.name === undefined ? '--accept-marked' : '"acceptMarked": true in assay.json'} would take it)`;
}

function shortcomingOf(standing: EvidenceStatus, policy: string | undefined): string {
  return standing === 'clean' ? `clean by ${policy}, not ${POLICY_VERSION}` : `${standing}, not clean`;
}

function reasonOf(evidence: Evidence | undefined): string {
  const [finding] = evidence?.findings ?? [];
  if (!finding) return evidence?.gaps[0] ?? '';
  const more = (evidence?.findings.length ?? 0) + (evidence?.untoldFindings ?? 0) - 1;
  return `${finding.kind} ${finding.path || finding.detail}${more > 0 ? ` and ${more} more` : ''}`;
}
