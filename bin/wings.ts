// The wings of this build. Written by scripts/wings-list.ts from the folders of wings/: `npm run generate`.
// No other file names a wing. bin/assay.ts loads this list only for a command that the trunk lacks.
import type { Wing } from '../core/cli/wing.ts';
import { wing as bazelWorker } from '../wings/bazel-worker/index.ts';
import { wing as doctor } from '../wings/doctor/index.ts';
import { wing as gocache } from '../wings/gocache/index.ts';
import { wing as incident } from '../wings/incident/index.ts';

export const WINGS: Readonly<Record<string, Wing>> = {
  'bazel-worker': bazelWorker,
  doctor,
  gocache,
  incident,
};

/** The wing of each command. A build lacks the commands of a wing that is not above. */
export const WING_OF: Readonly<Record<string, string>> = {
  'bazel-worker': 'bazel-worker',
  divergences: 'incident',
  doctor: 'doctor',
  forget: 'incident',
  gocacheprog: 'gocache',
};
