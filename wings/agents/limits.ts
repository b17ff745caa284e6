// Every limit of the wing agents.
import { SECOND } from '../../core/units.ts';

export const AGENTS = {
  /** How long `assay status` waits for the remote. */
  remoteMs: 2 * SECOND,
  /** The steps that `assay status` prints for a person. */
  shownSteps: 20,
} as const;
