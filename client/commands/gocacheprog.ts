// `assay gocacheprog`: the helper process that the go command starts by itself when GOCACHEPROG names it.
import { join } from 'node:path';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { DiskFiles } from '../integrations/gocache/disk-files.ts';
import { Entries, GO_NAMESPACE } from '../integrations/gocache/entries.ts';
import { serveGo } from '../integrations/gocache/serve.ts';
import { clientFolder } from '../local-store/client-folder.ts';
import { openUsableStore } from '../local-store/open.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { openRemote } from '../remote/open.ts';
import { remoteToken } from '../remote/token.ts';
import { parseRemoteUrl, remoteBelow } from '../remote/url.ts';
import { Reporter } from '../run/reporter.ts';
import type { Report } from '../terminal/events.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { STORE_FLAGS } from './store-flags.ts';

const flags = {
  store: STORE_FLAGS.store,
  remote: {
    type: 'string',
    value: 'URL',
    text: 'a shared cache (default: ASSAY_REMOTE)',
  },
} satisfies FlagTable;

export const gocacheprogCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'GOCACHEPROG="assay gocacheprog [FLAGS]" go build …',
    text: [
      'Caches what the go command (1.24 or newer) compiles and tests in the local store, and shares it through',
      'a remote. The go command starts this helper itself and talks to it over a pipe. A failing store or',
      'remote is a miss, never a failed build. Shared entries are in the namespace "go" of the remote.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the remote’s URL',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token',
    },
    exitCodes: { '0': 'the go command closed the pipe', '2': 'a request was not understood' },
    examples: [
      'export GOCACHEPROG="assay gocacheprog"; go test ./...',
      'GOCACHEPROG="assay gocacheprog --remote http://cache.example:8980" go build ./...',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay gocacheprog takes no arguments');
    const remote = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
    const url = remote ? parseRemoteUrl(remote) : undefined;
    const folder = storeFolder(parsed.text('store'), process.env);
    const report = warningsOnly(new Reporter(new SyncStream(2), false).report);
    const store = await openUsableStore(folder, report);
    const token = remoteToken();
    const answers = new SyncStream(1);
    await serveGo(process.stdin, (answer) => answers.write(`${JSON.stringify(answer)}\n`), {
      files: DiskFiles.open(join(clientFolder(folder), 'go'), Date.now),
      entries:
        store &&
        new Entries({
          store,
          remote:
            url &&
            (await openRemote({
              url: remoteBelow(url, GO_NAMESPACE),
              token,
              now: Date.now,
              tool: 'gocacheprog',
            })),
          report,
        }),
      now: Date.now,
    });
    return 0;
  },
};

/** Drops progress: standard error belongs to the go command. */
function warningsOnly(report: Report): Report {
  return (event) => {
    if (event.type !== 'transfer') report(event);
  };
}
