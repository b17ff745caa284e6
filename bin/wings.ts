// The wings of this build. Written by scripts/wings-list.ts from the folders of wings/: `npm run generate`.
// No other file names a wing. bin/assay.ts loads this list only for what the trunk lacks.
import type { LibraryPort } from '../client/library/library-port.ts';
import type { StepHook, StepHookPort } from '../client/run/step-hook.ts';
import type { Wing } from '../core/cli/wing.ts';
import type { EnginePort } from '../server/commands/engine-port.ts';
import type { IssuersPort } from '../server/config/issuers-port.ts';
import type { ServerPort } from '../server/server-port.ts';
import { wing as agents, library as agentsLibrary } from '../wings/agents/index.ts';
import { wing as backup } from '../wings/backup/index.ts';
import { wing as bazelWorker } from '../wings/bazel-worker/index.ts';
import { wing as bundles } from '../wings/bundles/index.ts';
import { wing as checkHits, stepHook as checkHitsHook } from '../wings/check-hits/index.ts';
import { wing as dashboard } from '../wings/dashboard/index.ts';
import { wing as doctor } from '../wings/doctor/index.ts';
import { wing as fleet } from '../wings/fleet/index.ts';
import { wing as gocache } from '../wings/gocache/index.ts';
import { wing as incident } from '../wings/incident/index.ts';
import { wing as init } from '../wings/init/index.ts';
import { wing as leases, stepHook as leasesHook } from '../wings/leases/index.ts';
import { wing as manual } from '../wings/manual/index.ts';
import { wing as mise } from '../wings/mise/index.ts';
import { wing as oidc } from '../wings/oidc/index.ts';
import { wing as prune } from '../wings/prune/index.ts';
import { wing as reproduce, stepHook as reproduceHook } from '../wings/reproduce/index.ts';
import {
  wing as snapshots,
  stepHook as snapshotsHook,
  library as snapshotsLibrary,
} from '../wings/snapshots/index.ts';
import { wing as verifyRelease } from '../wings/verify-release/index.ts';
import { wing as vitePlus } from '../wings/vite-plus/index.ts';

export type Ports = StepHookPort;
type AnyWing = Wing<Ports> & Partial<EnginePort & IssuersPort & ServerPort>;

export const WINGS: Readonly<Record<string, AnyWing>> = {
  agents,
  backup,
  'bazel-worker': bazelWorker,
  bundles,
  'check-hits': checkHits,
  dashboard,
  doctor,
  fleet,
  gocache,
  incident,
  init,
  leases,
  manual,
  mise,
  oidc,
  prune,
  reproduce,
  snapshots,
  'verify-release': verifyRelease,
  'vite-plus': vitePlus,
};

/** The library has these alone, without the commands. */
export const STEP_HOOKS: readonly StepHook[] = [checkHitsHook, leasesHook, reproduceHook, snapshotsHook];

/** What the library has of wings. */
export const LIBRARIES: readonly LibraryPort[] = [agentsLibrary, snapshotsLibrary];

/** The wing of each command. A build lacks the commands of a wing that is not above. */
export const WING_OF: Readonly<Record<string, string>> = {
  'bazel-worker': 'bazel-worker',
  checkpoint: 'snapshots',
  'checkpoint drop': 'snapshots',
  'checkpoint list': 'snapshots',
  'checkpoint restore': 'snapshots',
  'checkpoint show': 'snapshots',
  db: 'fleet',
  divergences: 'incident',
  doctor: 'doctor',
  export: 'bundles',
  forget: 'incident',
  gocacheprog: 'gocache',
  help: 'manual',
  import: 'bundles',
  init: 'init',
  login: 'oidc',
  mcp: 'agents',
  prune: 'prune',
  reproduce: 'reproduce',
  restore: 'snapshots',
  save: 'snapshots',
  'show --bundle': 'bundles',
  status: 'agents',
  'store backup': 'backup',
  'store migrate': 'fleet',
  'store restore': 'backup',
  'store verify': 'fleet',
  'verify-release': 'verify-release',
};
