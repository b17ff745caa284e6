// `assay clean`: removes outputs of steps, the client's state, or the whole store.
import { existsSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import { relPathFromUser, toSystemPath } from '../../core/path.ts';
import { LAYOUT_VERSION, layoutIn } from '../../store/disk/fs/layout.ts';
import { usersOf } from '../../store/disk/fs/store-users.ts';
import { SCRUB_JOURNAL } from '../../store/scrub/journal.ts';
import { loadWorkspace } from '../config/workspace.ts';
import { currentFolder } from '../files/current-folder.ts';
import { selectSteps } from '../graph/select/selection.ts';
import { clientFolder } from '../local-store/client-folder.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { refuseLinkedParents } from '../outputs/outputs.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { counted } from '../view/words.ts';
import { STORE_FLAGS } from './store-flags.ts';

const flags = {
  store: STORE_FLAGS.store,
  package: { type: 'string', multiple: true, value: 'GLOB', text: 'only steps of these packages' },
  memory: {
    type: 'boolean',
    text: 'instead remove what Assay remembers about files, hits and runs; stored results stay',
  },
  'whole-store': {
    type: 'boolean',
    text: 'instead remove the local store with everything in it, unless a server or a run uses it',
  },
} satisfies FlagTable;

export const cleanCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay clean [FLAGS] [STEP …]',
    text: 'Removes the outputs of all steps, or of the named ones, from the workspace.\nThe next run restores them from the cache.',
    flags,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: {
      '0': 'removed, or there was nothing to remove',
      '2': 'no assay.json, no such step, an output that cannot be removed, or a store in use',
    },
    examples: ['assay clean', 'assay clean web#build', 'assay clean --memory'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const names = parsed.positionals;
    const store = storeFolder(parsed.text('store'), process.env);
    const isStore = parsed.given('whole-store');
    if (!isStore && !parsed.given('memory')) return removeOutputs(names, parsed.all('package'));
    if (names.length > 0) throw usage('--memory and --whole-store take no step');
    // Removes only Assay's own files: --store may name a folder that holds others too.
    const parts = isStore ? [LAYOUT_VERSION, SCRUB_JOURNAL].map((part) => join(store, part)) : [];
    if (isStore) refuseInUse(store);
    const existing = [clientFolder(store), ...parts].filter((path) => existsSync(path));
    for (const path of existing) rmSync(path, { recursive: true, force: true });
    new SyncStream(2).write(
      `assay: ${existing.length > 0 ? `removed ${existing.join(' and ')}` : 'there was nothing to remove'}\n`,
    );
    return 0;
  },
};

/** A running server would lose acknowledged writes. */
function refuseInUse(store: string): void {
  const users = usersOf(layoutIn(join(store, LAYOUT_VERSION)).index);
  if (users.length === 0) return;
  const names = users.map(({ pid, command }) => `process ${pid} (${command})`);
  throw new AssayError('ASSAY_STORE_IN_USE', `${store} is open in ${names.join(', ')}; nothing was removed`);
}

async function removeOutputs(names: readonly string[], packages: readonly string[]): Promise<number> {
  const { root, steps } = await loadWorkspace(currentFolder());
  const folder = relPathFromUser(relative(root, currentFolder()));
  const outputs = selectSteps({ names, packages, folder }, steps).flatMap((step) => step.outputs);
  for (const output of outputs) {
    refuseLinkedParents(root, output);
    rmSync(toSystemPath(root, output), { recursive: true, force: true });
  }
  new SyncStream(2).write(`assay: removed ${counted(outputs.length, 'output')}\n`);
  return 0;
}
