// `assay push`: uploads the results that earlier runs could not.
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { currentFolder } from '../files/current-folder.ts';
import { counted } from '../graph/view/words.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { push } from '../maintenance/push.ts';
import { remoteToken } from '../remote/token.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import { Reporter } from '../run/reporter.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { SNAPSHOT_ENVIRONMENT, SNAPSHOT_FLAGS } from './snapshot-flags.ts';

const flags = {
  store: SNAPSHOT_FLAGS.store,
  remote: SNAPSHOT_FLAGS.remote,
  json: SNAPSHOT_FLAGS.json,
} satisfies FlagTable;

export const pushCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay push [FLAGS]',
    text: [
      'Uploads results that earlier runs could not: the upload failed, was too slow, or was cut off by the end',
      'of the run. The local store keeps them for 7 days. A later run with the same remote uploads them too, but',
      'waits for that at most 10 seconds or a tenth of its own time.',
    ].join('\n'),
    flags,
    environment: SNAPSHOT_ENVIRONMENT,
    exitCodes: {
      '0': 'everything is uploaded',
      '1': 'some results are still not uploaded',
      '2': 'Assay refused its arguments',
    },
    examples: ['assay push', 'assay push --remote grpc://cache.internal:8980'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay push takes no arguments');
    const remote = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
    if (!remote) throw usage('no remote: pass --remote URL, or set ASSAY_REMOTE');
    const { report } = new Reporter(new SyncStream(2), false);
    const pushed = await push({
      storeFolder: storeFolder(parsed.text('store'), process.env),
      workspace: currentFolder(),
      remoteUrl: parseRemoteUrl(remote),
      token: remoteToken(),
      now: Date.now,
      report,
    });
    const { shared, unshared, why } = pushed;
    const rest = unshared > 0 ? `, ${unshared} not uploaded: ${why}` : '';
    const text = parsed.given('json')
      ? JSON.stringify({ shared, unshared, ...(unshared > 0 && { why }) })
      : `assay: ${counted(shared, 'result')} uploaded${rest}`;
    new SyncStream(1).write(`${text}\n`);
    return unshared > 0 ? 1 : 0;
  },
};
