// `assay reproduce`: runs an action again and again from clean copies, and tells what its result depends on beyond its key.
import type { CommandModule } from '../../core/cli/command.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { reproductionJson, reproductionText } from '../reproduce/report.ts';
import { reproduceRequest } from '../reproduce/reproduce.ts';
import { openCache } from '../run/caches.ts';
import { Reporter } from '../run/reporter.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { ACTION_FLAGS } from './action-flags.ts';
import { parseOneAction } from './one-action.ts';
import { STORE_FLAGS } from './store-flags.ts';

const FINDINGS = 3;

export const reproduceCommand: CommandModule = {
  failureCode: 125,
  help: {
    usage: 'assay reproduce [FLAGS] STEP\n       assay reproduce [FLAGS] -- COMMAND [ARGUMENTS]',
    text: [
      'Runs COMMAND, or the command of a STEP of assay.json, from clean copies of its declared inputs: once with all that it is',
      'told about the world held still, once with everything varied: time, random numbers, addresses, process ids, host name,',
      'number of processors, user, umask, the workspace’s path, times of the inputs, order of folders, undeclared variables.',
      'If the results differ, finds by halving which of these matters, and shows the first byte that differs.',
      'Nothing is looked up, nothing is published, and the workspace stays as it is. Undeclared variables of the caller are',
      'tried too, except those whose name looks like a secret’s.',
      'A step with state is run once more with that of the nearest earlier run in place: it must not make a difference.',
      'If the command fails in such a copy, `assay audit` tells which inputs are not declared.',
    ].join('\n'),
    flags: { ...ACTION_FLAGS, ...STORE_FLAGS },
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: {
      '0': 'reproducible: the same result under all conditions that could be tried',
      '3': 'findings, or a command that could not be run in a copy',
      '125': 'Assay refused the request, or this machine can vary nothing',
    },
    examples: [
      'assay reproduce build',
      "assay reproduce --input 'src/**' --output app.tar -- tar cf app.tar src",
      "assay reproduce --json --input 'src/**' --output app -- cc -g -o app src/main.c",
    ],
  },
  async main(args) {
    const { flags: parsed, request, caller } = await parseOneAction('reproduce', args, STORE_FLAGS);
    const json = parsed.given('json');
    const [stdout, stderr] = [new SyncStream(1), new SyncStream(2)];
    const { report } = new Reporter(stderr, json);
    const folder = storeFolder(parsed.text('store'), process.env);
    const cache = openCache({ storeFolder: folder, workspace: request.workspace, now: Date.now, report });
    try {
      const context = { cache, caller, stdout, stderr, report, now: Date.now };
      const found = await reproduceRequest(request, context);
      stdout.write(json ? `${reproductionJson(found)}\n` : reproductionText(found));
      return found.findings.length === 0 && found.gaps.length === 0 ? 0 : FINDINGS;
    } finally {
      await cache.close();
    }
  },
};
