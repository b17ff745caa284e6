// `assay gocacheprog`: the helper process that the go command starts by itself when GOCACHEPROG names it.
import { join } from 'node:path';
import { STORE_FLAGS } from '../../client/commands/store-flags.ts';
import { clientFolder } from '../../client/local-store/client-folder.ts';
import { openUsableStore } from '../../client/local-store/open.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { openRemote } from '../../client/remote/open.ts';
import { remoteToken } from '../../client/remote/token.ts';
import { parseRemoteUrl, remoteBelow } from '../../client/remote/url.ts';
import { Reporter } from '../../client/run/reporter.ts';
import type { Report } from '../../client/terminal/events.ts';
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { DiskFiles } from './disk-files.ts';
import { Entries, GO_NAMESPACE } from './entries.ts';
import { serveGo } from './serve.ts';

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
