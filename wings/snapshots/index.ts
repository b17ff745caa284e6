// The wing snapshots: `assay save` and `assay restore`, and the state and the checkpoints of steps.
import type { LibraryPort } from '../../client/library/library-port.ts';
import type { StepHook } from '../../client/run/step-hook.ts';
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    save: {
      summary: 'save files and folders under a key, for `assay restore`',
      load: async () => (await import('./commands/save.ts')).saveCommand,
    },
    restore: {
      summary: 'restore files and folders that `assay save` saved, from the best matching key',
      load: async () => (await import('./commands/restore.ts')).restoreCommand,
    },
    checkpoint: {
      summary: 'inside a step: save its checkpoint folders now',
      load: async () => (await import('./commands/checkpoint.ts')).checkpointCommand,
    },
    'checkpoint list': {
      summary: 'list the checkpoints that are stored',
      load: async () => (await import('./commands/checkpoint-list.ts')).checkpointListCommand,
    },
    'checkpoint show': {
      summary: 'show one checkpoint and its files',
      load: async () => (await import('./commands/checkpoint-show.ts')).checkpointShowCommand,
    },
    'checkpoint restore': {
      summary: 'restore a checkpoint into a folder, to look at',
      load: async () => (await import('./commands/checkpoint-restore.ts')).checkpointRestoreCommand,
    },
    'checkpoint drop': {
      summary: 'drop checkpoints from the local store, by number or age',
      load: async () => (await import('./commands/checkpoint-drop.ts')).checkpointDropCommand,
    },
  },
};

export const stepHook: StepHook = {
  around: async (action, context) => (await import('./around.ts')).around(action, context),
  restoreState: async (action, context, folder) =>
    (await import('./around.ts')).restoreState(action, context, folder),
};

export const library: LibraryPort = {
  save: async (...given) => (await import('./points.ts')).savePoint(...given),
  restore: async (...given) => (await import('./points.ts')).restorePoint(...given),
};
