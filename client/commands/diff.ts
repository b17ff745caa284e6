// `assay diff`: the differences between two actions, by name.
import { type CommandModule, parseFlags, usage } from '../../core/cli/command.ts';
import { differences } from '../../store/actions/difference.ts';
import { describe } from '../history/difference-text.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { inOneLine, SyncStream } from '../terminal/sync-stream.ts';
import { resolveKey } from './resolve-step-arg.ts';
import { STORE_FLAGS } from './store-flags.ts';
import { withStore } from './with-store.ts';

export const diffCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay diff [FLAGS] KEY KEY',
    text: 'Lists what differs between two actions: inputs, variables, tools, command, platform.\nA KEY is a key, a prefix of one, or the name of a step for its last run.',
    flags: STORE_FLAGS,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: { '0': 'no difference', '1': 'differences', '2': 'one of the actions is not in the store' },
    examples: ['assay diff 1f2e3d 9a8b7c'],
  },
  async main(args) {
    const parsed = parseFlags(args, STORE_FLAGS);
    const [before, after, ...more] = parsed.positionals;
    if (before === undefined || after === undefined || more.length > 0)
      throw usage('assay diff takes two keys');
    const folder = storeFolder(parsed.text('store'), process.env);
    const keys = { before: await resolveKey(before, folder), after: await resolveKey(after, folder) };
    const found = await withStore(folder, ({ blobs }) => differences(keys.before, keys.after, blobs));
    const lines = found.map((difference) => `${inOneLine(describe(difference))}\n`).join('');
    new SyncStream(1).write(
      parsed.given('json') ? `${JSON.stringify({ ...keys, differences: found })}\n` : lines,
    );
    return found.length === 0 ? 0 : 1;
  },
};
