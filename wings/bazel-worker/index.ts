// The wing bazel-worker: `assay bazel-worker`, a persistent worker of Bazel around any tool.
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    'bazel-worker': {
      summary: 'run a tool as a persistent worker of Bazel, and only on a cache miss',
      load: async () => (await import('./command.ts')).bazelWorkerCommand,
    },
  },
};
