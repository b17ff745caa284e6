// Evidence: what a tracer observed of the run that made a result.
// It is stored inside the result, so that every client can decide whether to accept the result.
// It has no arguments of processes: they may be secrets.
import { decodeStrict } from './message.ts';
import { Evidence as EvidenceMessage } from './proto/generated/assay.ts';
import type { Any } from './proto/generated/google/protobuf/any.ts';

const TYPE = 'type.googleapis.com/assay.v1.Evidence';

export interface FindingEvidence {
  readonly kind: string;
  readonly path: string;
  readonly detail: string;
}

export interface Evidence {
  /** NO_TRACER if nobody watched the run. The first gap then says why, and findings are those of an attempt before. */
  readonly tracer: string;
  readonly tracerVersion: string;
  readonly policy: string;
  /** SHA-256 of the list of accesses. */
  readonly accesses: string;
  readonly findings: readonly FindingEvidence[];
  readonly untoldFindings: number;
  readonly gaps: readonly string[];
  readonly sandboxed: boolean;
}

export const NO_TRACER = '';

/** The gap of a run that asked not to be watched. Only another such run takes its result. */
export const WATCHING_OFF = 'it ran with --hermetic=off';

/**
 * `declared`: the run accessed nothing undeclared. `observed`: it did, and facts of its path set stand for
 * all of it. `unproven`: no fact can stand for something that it did. `unwatched`: there was no tracer.
 */
export const EVIDENCE_STATUSES = ['declared', 'observed', 'unproven', 'unwatched'] as const;

export type EvidenceStatus = (typeof EVIDENCE_STATUSES)[number];

export function evidenceStatusOf(evidence: Evidence | undefined): EvidenceStatus {
  if (!evidence || evidence.tracer === NO_TRACER) return 'unwatched';
  if (evidence.gaps.length > 0 || evidence.findings.some((one) => proofOf(one) === 'none')) return 'unproven';
  return evidence.findings.length === 0 ? 'declared' : 'observed';
}

/** True for `unproven` and `unwatched`: nothing that another run could compare stands for the result. */
export function lacksProof(status: EvidenceStatus): boolean {
  return status === 'unproven' || status === 'unwatched';
}

/** True for a result that is for runs with --hermetic=off only. */
export function isForUnwatchedRuns({ tracer, gaps }: Pick<Evidence, 'tracer' | 'gaps'>): boolean {
  return tracer === NO_TRACER && gaps[0] === WATCHING_OFF;
}

/**
 * `compared`: a fact stands for the finding, and every lookup compares it. `local`: it holds only in this
 * workspace, so the result is not shared. `none`: no fact can stand for it. Unknown kinds have none.
 */
type Proof = 'compared' | 'local' | 'none';

export function proofOf({
  kind,
  path = '',
}: Pick<Partial<FindingEvidence>, 'path'> & { kind: string }): Proof {
  // Nothing compares a file that the action wrote outside the workspace.
  if (kind === 'write') return path.startsWith('/') || path.startsWith('../') ? 'none' : 'local';
  return PROOFS.get(kind) ?? 'none';
}

/** Earlier outputs are set aside and io_uring is denied, so the run saw what it sees on a fresh machine. */
const PROOFS: ReadonlyMap<string, Proof> = new Map([
  ['read', 'compared'],
  ['probe', 'compared'],
  ['absent', 'compared'],
  ['list', 'compared'],
  ['stale-output', 'compared'],
  ['io_uring', 'compared'],
  ['symlink-escape', 'local'],
]);

export function encodeEvidence(evidence: Evidence): Any {
  const message = EvidenceMessage.encode({
    ...evidence,
    findings: evidence.findings.map((finding) => ({ ...finding })),
    gaps: [...evidence.gaps],
  });
  return { typeUrl: TYPE, value: Buffer.from(message.finish()) };
}

/** Undefined for a result of another client. Refuses malformed evidence. */
export function decodeEvidence(metadata: readonly Any[]): Evidence | undefined {
  const found = metadata.find(({ typeUrl }) => typeUrl === TYPE);
  return (
    found && decodeStrict(EvidenceMessage, { many: { 5: {} } }, found.value, 'its evidence is malformed')
  );
}
