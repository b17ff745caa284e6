// The words and colours of outcomes, causes and statuses: one for each, on all pages.
import type { EvidenceStatus } from '../../../core/evidence.ts';
import type { Html } from '../../../core/html/html.ts';
import type { StepOutcome } from '../../../core/metadata/run-report.ts';
import type { MissCause } from '../../../core/metadata/run-report-schema.ts';
import type { RunOutcome, RunRow, TailEvent } from '../api/schemas/parts.ts';
import { badge, type Tone } from './parts.ts';

type Word = readonly [Tone, string];

const RUN: Readonly<Record<RunOutcome, Word>> = {
  passed: ['good', 'passed'],
  failed: ['bad', 'failed'],
  interrupted: ['warn', 'interrupted'],
  running: ['plain', 'running'],
  unknown: ['plain', 'ended'],
};

const STEP: Readonly<Record<StepOutcome, Word>> = {
  'hit-local': ['good', 'hit'],
  'hit-remote': ['good', 'hit, from here'],
  miss: ['warn', 'ran'],
  failed: ['bad', 'failed'],
  interrupted: ['warn', 'interrupted'],
  skipped: ['plain', 'skipped'],
};

/** The class of a bar. */
export const STEP_TONES: Readonly<Record<StepOutcome, string>> = {
  'hit-local': 'hit',
  'hit-remote': 'hit',
  miss: 'miss',
  failed: 'failed',
  interrupted: 'other',
  skipped: 'other',
};

const EVENT: Readonly<Record<TailEvent['what'], Word>> = {
  hit: ['good', 'hit'],
  miss: ['warn', 'miss'],
  stored: ['plain', 'stored'],
  denied: ['bad', 'denied'],
};

const STATUS: Readonly<Record<EvidenceStatus, Word>> = {
  declared: ['good', 'declared'],
  observed: ['plain', 'observed'],
  unproven: ['bad', 'unproven'],
  unwatched: ['warn', 'unwatched'],
};

/** What each status means, for the legend. */
export const STATUS_MEANING: Readonly<Record<EvidenceStatus, string>> = {
  declared: 'read only what it declares',
  observed: 'read more, and all of that is compared before every hit',
  unproven: 'did what nothing can compare, such as using the network',
  unwatched: 'ran without being watched',
};

export const STATUS_TONES: Readonly<Record<EvidenceStatus, string>> = {
  declared: 'hit',
  observed: 'other',
  unproven: 'failed',
  unwatched: 'miss',
};

const CAUSE: Readonly<Record<MissCause['kind'], string>> = {
  input: 'input',
  variable: 'variable',
  tool: 'tool',
  platform: 'platform',
  command: 'command',
  outputs: 'outputs',
  fact: 'observed file',
  refused: 'refused result',
  'not-kept': 'not kept',
  'not-cached': 'not cached',
  forced: 'forced',
  'failed-before': 'failed before',
  'first-run': 'first run',
  version: 'version of Assay',
  unknown: 'unknown',
};

const PROTOCOLS: Readonly<Record<string, string>> = {
  ac: 'over HTTP',
  'path-sets': 'by assay run',
  'PathSets.Publish': 'by assay run',
  'ActionCache.UpdateActionResult': 'over gRPC',
};

/** How a result was written, as the server names the route or the method. */
export const protocolWord = (protocol: string): string => PROTOCOLS[protocol] ?? `over ${protocol}`;

function shown([tone, text]: Word): Html {
  return badge(tone, text);
}

export const runOutcome = (outcome: RunOutcome): Html => shown(RUN[outcome]);
export const stepOutcome = (outcome: StepOutcome): Html => shown(STEP[outcome]);
export const eventWord = (what: TailEvent['what']): Html => shown(EVENT[what]);
export const statusWord = (status: EvidenceStatus): Html => shown(STATUS[status]);
export const causeWord = ({ kind }: MissCause): Html => badge('plain', CAUSE[kind]);

/** What ran. The name of a machine says nothing about that. */
export function runTitle({ ran, steps, tool, namespace, repository }: RunRow): string {
  if (ran === undefined) return repository ?? (namespace === '' ? tool : `${tool} in ${namespace}`);
  const more = steps - ran.length;
  return more > 0 ? `${ran.join(', ')} and ${more} more` : ran.join(', ');
}

/** All outcomes of a run, for a filter. */
export const RUN_OUTCOMES = Object.keys(RUN);
