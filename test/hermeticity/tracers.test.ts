// Both backends keep the same contract.
import { describeTracer } from './contract.ts';
import { TRACERS } from './rig.ts';

for (const [name, makeTracer] of Object.entries(TRACERS)) describeTracer(name, makeTracer);
