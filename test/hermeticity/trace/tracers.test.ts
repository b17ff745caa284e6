// Both tracers keep the same contract.

import { TRACERS } from '../rig.ts';
import { describeTracer } from './contract.ts';

for (const [name, makeTracer] of Object.entries(TRACERS)) describeTracer(name, makeTracer);
