// The flags of `assay run STEP…`.
import type { FlagTable } from '../../core/cli/command.ts';

export const GRAPH_FLAGS = {
  package: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    text: 'only steps of these packages, by name or folder; "pkg#build" names its package itself',
  },
  affected: {
    type: 'string',
    optionalValue: true,
    value: 'REF',
    text: 'only steps that a change since REF reaches, as git tells it\n(default: where the branch left the main one)',
  },
  jobs: { type: 'string', value: 'N', text: 'commands side by side (default: as many as there are cores)' },
  'keep-going': { type: 'boolean', text: 'after a failure, run what does not depend on the failed step' },
  force: {
    type: 'boolean',
    text: 'run every command, whatever is stored; where it makes other outputs than those that are stored\nfor the same key, says that these are not kept: the stored ones stay',
  },
  watch: { type: 'boolean', text: 'run again whenever an input changes' },
  'dry-run': {
    type: 'boolean',
    text: 'say of each step whether it would hit, its key, and why not; run nothing',
  },
  graph: {
    type: 'string',
    optionalValue: true,
    value: 'mermaid|dot|html',
    text: 'print the graph instead of running it (html: a page for a browser, with what --dry-run tells)',
  },
  logs: {
    type: 'string',
    value: 'stream|group|failed|none',
    text: 'what commands say: as it comes, whole when a step ends, of failures only, not at all\n(default: failed on a terminal, group elsewhere)',
  },
  summary: {
    type: 'string',
    value: 'FILE',
    text: 'write what happened to FILE: as Markdown if it ends in .md, else as JSON',
  },
} satisfies FlagTable;
