// Starts what the page has. Without this script, a page shows the same and does not follow what happens.
import { startCharts } from './charts.ts';
import { startCopying } from './copy.ts';
import { startLights } from './lights.ts';
import { startTail } from './tail.ts';

startCopying();
startLights();
startTail();
startCharts();
