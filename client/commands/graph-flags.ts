// The flags of `assay run STEP…` that do not declare anything: selection, order and output.
import type { Flag } from '../../core/cli/command.ts';
import { OPTIONS } from '../action/fields.ts';
import type { GraphFlag } from '../graph/command.ts';
import { ACTION_LEASE_FLAG } from '../lease/mode.ts';
import { RETRY_FLAG } from '../retry/retry.ts';

export const GRAPH_FLAGS = {
  package: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    text: 'only steps of these packages, by name or folder',
  },
  filter: {
    type: 'string',
    multiple: true,
    value: 'FILTER',
    text: 'only steps of these packages: NAME, {FOLDER}, [REF] (with a changed file since REF), or these together; X... with what X depends on, ...X with what depends on it, ^ without X itself; !X leaves out',
  },
  affected: {
    type: 'string',
    optionalValue: true,
    value: 'REF',
    text: 'only steps that changes since REF may affect, by git (default: since the branch left the main branch). A step is left out only if a stored result holds and its command saw no changed path',
  },
  jobs: {
    type: 'string',
    value: 'N',
    text: 'how many commands run at a time, over all your runs of steps on this machine (default: the number of cores)',
  },
  'keep-going': {
    type: 'boolean',
    text: 'after a failure, go on with steps that do not depend on the failed one',
  },
  force: {
    type: 'boolean',
    text: 'run every command, even if a result is stored. If its outputs differ from the stored ones, Assay reports that and keeps the stored result',
  },
  'cache-failures': {
    type: 'string',
    optionalValue: true,
    value: 'local',
    text: OPTIONS.cacheFailures.text,
  },
  retry: RETRY_FLAG,
  'check-hits': {
    type: 'string',
    optionalValue: true,
    value: 'PERCENT',
    text: 'run the commands of a sample of the hits all the same, and compare what they make with the stored results; without PERCENT, of all hits. A stored result stays, also if it differs',
  },
  'check-seed': {
    type: 'string',
    value: 'SEED',
    text: 'take the sample of an earlier run again: the seed that --check-hits printed',
  },
  verbose: {
    type: 'boolean',
    short: 'v',
    text: 'print for each hit whose run made the result, and what was compared to allow the hit',
  },
  watch: { type: 'boolean', text: 'run again when an input changes, until interrupted' },
  'dry-run': {
    type: 'boolean',
    text: 'run nothing; print for each step its key, whether it would hit, and why not',
  },
  graph: {
    type: 'string',
    optionalValue: true,
    value: 'mermaid|dot|html',
    text: 'run nothing; print the graph (html: a page for a browser, with the results of --dry-run)',
  },
  logs: {
    type: 'string',
    value: 'stream|group|failed|none',
    text: 'the logs of commands: at once, whole when a step ends, of failed steps only, or none (default: failed on a terminal, else group)',
  },
  'action-lease': ACTION_LEASE_FLAG,
  'no-report': {
    type: 'boolean',
    text: 'do not report the run to an Assay server that keeps a list of runs (the same as ASSAY_REPORT=0)',
  },
  summary: {
    type: 'string',
    value: 'FILE',
    text: 'write a summary to FILE: as Markdown if its name ends in .md, else as JSON',
  },
} satisfies Readonly<Record<Exclude<GraphFlag, 'store' | 'remote' | 'json'>, Flag>>;
