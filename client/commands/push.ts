// `assay push`: uploads the results that earlier runs could not.
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseFlags,
  usage,
} from '../../core/cli/command.ts';
import { currentFolder } from '../files/current-folder.ts';
import type { MadeResult } from '../local-store/made-here.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { push } from '../maintenance/push.ts';
import { remoteToken } from '../remote/token.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import { Reporter } from '../run/reporter.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { counted } from '../view/words.ts';
import { REMOTE_ENVIRONMENT, REMOTE_FLAGS } from './store-flags.ts';

const flags = {
  store: REMOTE_FLAGS.store,
  remote: REMOTE_FLAGS.remote,
  all: { type: 'boolean', text: 'also everything that was made without any remote' },
  steps: { type: 'boolean', text: 'the same, but only the steps of this workspace' },
  json: REMOTE_FLAGS.json,
} satisfies FlagTable;

export const pushCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay push [FLAGS]',
    text: [
      'Uploads results that earlier runs could not: the upload failed, was too slow, or was cut off by the end',
      'of the run. The local store keeps them for 7 days. A later run with the same remote uploads them too, but',
      'waits for that at most 10 seconds or a tenth of its own time.',
      '',
      'For a server that is added later, --all and --steps also upload results that were made without any remote, as far',
      'as they may be shared. They never upload what was taken from a remote, what was made while one was named, what a',
      'CI job made, or what an earlier version of Assay stored. The first run with a new remote sends its own hits along, but not in CI.',
    ].join('\n'),
    flags,
    environment: REMOTE_ENVIRONMENT,
    exitCodes: {
      '0': 'everything is uploaded',
      '1': 'some results are still not uploaded',
      '2': 'Assay refused its arguments',
    },
    examples: ['assay push', 'assay push --all --remote grpc://cache.internal:8980'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay push takes no arguments');
    const remote = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
    if (!remote) throw usage('no remote: pass --remote URL, or set ASSAY_REMOTE');
    const { report } = new Reporter(new SyncStream(2), false);
    const workspace = currentFolder();
    const options = {
      storeFolder: storeFolder(parsed.text('store'), process.env),
      workspace,
      remoteUrl: parseRemoteUrl(remote),
      token: remoteToken(),
      now: Date.now,
      report,
    };
    const pushed = await push(options, wantedBy(parsed, workspace));
    const { shared, unshared, why } = pushed;
    const rest = unshared > 0 ? `, ${unshared} not uploaded: ${why}` : '';
    const text = parsed.given('json')
      ? JSON.stringify({ shared, unshared, ...(unshared > 0 && { why }) })
      : `assay: ${counted(shared, 'result')} uploaded${rest}`;
    new SyncStream(1).write(`${text}\n`);
    return unshared > 0 ? 1 : 0;
  },
};

/** A workspace of steps may be this folder, or one above it. */
function wantedBy(
  { given }: Pick<ParsedFlags, 'given'>,
  folder: string,
): ((made: MadeResult) => boolean) | undefined {
  if (given('all')) return () => true;
  if (!given('steps')) return undefined;
  return ({ workspace, isStep }) => isStep && (folder === workspace || folder.startsWith(`${workspace}/`));
}
