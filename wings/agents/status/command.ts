// `assay status`: for each step, how it ended last in this workspace and whether it would hit now; the store and the
// remote. It runs nothing, and writes no output.
import { STORE_FLAGS } from '../../../client/commands/store-flags.ts';
import { storeFolder } from '../../../client/local-store/store-folder.ts';
import { SyncStream } from '../../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags } from '../../../core/cli/command.ts';
import { statusAnswer, statusText } from './answer.ts';
import { remoteStatus, storeStatus } from './places.ts';
import { statusOfSteps } from './steps.ts';

const flags = {
  package: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    text: 'only steps of these packages, by name or folder',
  },
  store: STORE_FLAGS.store,
  remote: { type: 'string', value: 'URL', text: 'a shared cache (default: ASSAY_REMOTE)' },
  json: { type: 'boolean', text: 'print one JSON object of less than 2 KiB on standard output' },
} satisfies FlagTable;

export const statusCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay status [FLAGS] [STEP …]',
    text: [
      'Tells of each step how it ended last in this workspace, and whether it would hit now: in place, stored, to be run,',
      'or unknown until a step before it has run. Then whether the local store and the remote work. It runs nothing and',
      'asks the local store alone for results: a step that would run may still be a hit at the remote.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the remote’s URL',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token',
    },
    exitCodes: { '0': 'told, whatever the steps are', '2': 'there is no such step, or no configuration' },
    examples: ['assay status', 'assay status --json test'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const store = storeFolder(parsed.text('store'), process.env);
    const url = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
    const asked = { names: parsed.positionals, packages: parsed.all('package') };
    const remote = remoteStatus(url || undefined, store);
    const steps = await statusOfSteps(asked, store);
    const status = { steps, store: storeStatus(store), remote: await remote };
    new SyncStream(1).write(parsed.given('json') ? statusAnswer(status) : statusText(status));
    return 0;
  },
};
