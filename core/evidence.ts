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

/**
 * `clean`: the tracer observed the whole run and nothing undeclared. `marked`: it observed something
 * undeclared, or not the whole run. `unwatched`: there was no tracer.
 */
export type EvidenceStatus = 'clean' | 'marked' | 'unwatched';

export function evidenceStatusOf(evidence: Evidence | undefined): EvidenceStatus {
  if (!evidence) return 'unwatched';
  return evidence.findings.length === 0 && evidence.gaps.length === 0 ? 'clean' : 'marked';
}

export function encodeEvidence(evidence: Evidence): Any {
  const message = EvidenceMessage.encode({
    ...evidence,
    findings: evidence.findings.map((finding) => ({ ...finding })),
    gaps: [...evidence.gaps],
  });
  return { typeUrl: TYPE, value: Buffer.from(message.finish()) };
}

/** Undefined for a result of another client, or of a run without a tracer. Refuses malformed evidence. */
export function decodeEvidence(metadata: readonly Any[]): Evidence | undefined {
  const found = metadata.find(({ typeUrl }) => typeUrl === TYPE);
  return (
    found && decodeStrict(EvidenceMessage, { many: { 5: {} } }, found.value, 'its evidence is malformed')
  );
}
