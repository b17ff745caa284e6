// Which results a run takes, by what is known of the run that made them.
//
//                     this machine's own store           a remote
//   clean             taken                              taken
//   marked            taken, except by --hermetic=strict taken with --accept-marked, except by strict
//   unwatched         taken, except by strict            taken, except by strict
//
// A marked result in the own store is taken because all that its run was seen to read beyond its declaration is in its
// path set, so it is found only where that is unchanged; what can't be looked at again (network, time) is said each time.
// Unwatched are those of other clients, and of machines without a tracer.
import { type Evidence, type Standing, standingOf } from '../core/evidence.ts';
import type { RunRequest } from './request.ts';

export function takesLocally(standing: Standing, { hermetic }: RunRequest): boolean {
  return hermetic !== 'strict' || standing === 'clean';
}

/** Undefined if it is taken. */
export function whyNotFromRemote(evidence: Evidence | undefined, request: RunRequest): string | undefined {
  const standing = standingOf(evidence);
  if (!takesLocally(standing, request)) return `the remote has a result that is ${standing}, not clean`;
  if (standing !== 'marked' || request.acceptMarked) return undefined;
  return `the remote has a result that is marked: ${reasonOf(evidence)}`;
}

function reasonOf(evidence: Evidence | undefined): string {
  const [finding] = evidence?.findings ?? [];
  if (!finding) return evidence?.gaps[0] ?? '';
  const more = (evidence?.findings.length ?? 0) + (evidence?.untoldFindings ?? 0) - 1;
  return `${finding.kind} ${finding.path || finding.detail}${more > 0 ? ` and ${more} more` : ''}`;
}
