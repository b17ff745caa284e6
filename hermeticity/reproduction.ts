// The findings of further runs of a command under other conditions: data for reports.
import type { Finding } from './verdict/finding.ts';

export interface VariationReport {
  readonly name: string;
  readonly what: string;
  /** `not tried`: not possible on this machine; `reason` says why. */
  readonly outcome: 'same' | 'differs' | 'not tried';
  readonly reason?: string;
}

export interface Reproduction {
  readonly findings: readonly Finding[];
  readonly variations: readonly VariationReport[];
  readonly runs: number;
  /** Why the variations prove nothing, if so. */
  readonly gaps: readonly string[];
}
