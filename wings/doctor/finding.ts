// One line of `assay doctor`.
import { AssayError, messageOf } from '../../core/errors.ts';

export interface DoctorFinding {
  readonly subject: string;
  /** `notice`: it works, but not well; `ill`: something that is configured does not work. */
  readonly state: 'well' | 'notice' | 'ill';
  readonly detail: string;
  /** What a person can do about it. */
  readonly mend?: string | undefined;
}

export function well(subject: string, detail: string): DoctorFinding {
  return { subject, state: 'well', detail };
}

export function notice(subject: string, detail: string, mend: string): DoctorFinding {
  return { subject, state: 'notice', detail, mend };
}

export function ill(subject: string, detail: string, mend: string): DoctorFinding {
  return { subject, state: 'ill', detail, mend };
}

/** An AssayError carries its own hint. */
export function illBecause(subject: string, error: unknown, otherwise: string): DoctorFinding {
  const isKnown = error instanceof AssayError;
  return ill(subject, isKnown ? error.detail : messageOf(error), isKnown ? error.entry.hint : otherwise);
}
