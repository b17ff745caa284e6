// Which results a run takes, by what is known of the run that made them.
//
//                     this machine's own store           a remote
//   clean             taken                              taken
//   clean by another  taken, except by strict            taken, except by strict
//   policy's verdict
//   marked            taken, except by --hermetic=strict taken with --accept-marked, except by strict
//   unwatched         taken, except by strict            taken, except by strict
//
// A marked result in the own store is taken because all that its run was seen to read beyond its declaration is in its
// path set, so it is found only where that is unchanged; what can't be looked at again (network, time) is said each time.
// Unwatched are those of other clients, and of machines without a tracer.
import { type Evidence, type EvidenceStatus, evidenceStatusOf } from '../../core/evidence.ts';
import { POLICY_VERSION } from '../../hermeticity/verdict/policy-version.ts';
import type { RunRequest } from '../action/request.ts';

type Asked = Pick<RunRequest, 'hermetic' | 'acceptMarked' | 'name'>;

/** A verdict of another policy may have passed over what this one finds. */
export function acceptsLocal(evidence: Evidence | undefined, { hermetic }: Asked): boolean {
  if (hermetic !== 'strict') return true;
  return evidenceStatusOf(evidence) === 'clean' && evidence?.policy === POLICY_VERSION;
}

/** Undefined if it is taken. */
export function remoteRefusal(evidence: Evidence | undefined, request: Asked): string | undefined {
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
