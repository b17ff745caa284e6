// `assay reproduce`: runs an action repeatedly from clean copies, and reports what its result depends on
// beyond its key.

import { ACTION_FLAGS } from '../../client/commands/action-flags.ts';
import { parseOneAction } from '../../client/commands/one-action.ts';
import { STORE_FLAGS } from '../../client/commands/store-flags.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { openCache } from '../../client/run/caches.ts';
import { Reporter } from '../../client/run/reporter.ts';
import type { OpenStepHook } from '../../client/run/step-hook.ts';
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import type { CommandModule } from '../../core/cli/command.ts';
import { reproductionJson, reproductionText } from './report.ts';
import { reproduceRequest } from './reproduce.ts';

const FINDINGS = 3;

export const reproduceCommand = (stepHook: OpenStepHook): CommandModule => ({
  failureCode: 125,
  help: {
    usage: 'assay reproduce [FLAGS] STEP\n       assay reproduce [FLAGS] -- COMMAND [ARGUMENTS]',
    text: [
      'Checks whether COMMAND, or the command of a STEP, produces the same result under other conditions. Runs',
      'it in clean copies of its declared inputs: once with all conditions fixed, once with all varied (time,',
      'random numbers, addresses, process ids, host name, number of processors, user, umask, the workspace’s',
      'path, mtimes of inputs, order of directories, undeclared variables). If the results differ, it bisects',
      'the conditions and shows the first byte that differs.',
      '',
      'It looks nothing up, publishes nothing, and leaves the workspace unchanged. Undeclared variables of the',
      'caller are tried too, except those whose names look like secrets. A step with state runs once more with',
      'the state of the nearest earlier run, which must not change the result.',
      '',
      'If the command fails in a copy, `assay audit` shows which inputs are not declared.',
    ].join('\n'),
    flags: { ...ACTION_FLAGS, ...STORE_FLAGS },
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: {
      '0': 'reproducible: the same result under all conditions that were tried',
      '3': 'findings, or the command could not run in a copy',
      '125': 'Assay refused the request, or this machine cannot vary any condition',
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
      const context = { cache, caller, stdout, stderr, report, stepHook, now: Date.now };
      const found = await reproduceRequest(request, context);
      stdout.write(json ? `${reproductionJson(found)}\n` : reproductionText(found));
      return found.findings.length === 0 && found.gaps.length === 0 ? 0 : FINDINGS;
    } finally {
      await cache.close();
    }
  },
});
