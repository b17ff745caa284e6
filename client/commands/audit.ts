// `assay audit`: runs an action under a tracer and tells what it saw or changed beyond its declaration.
import type { CommandModule, FlagTable } from '../../core/command.ts';
import { audit } from '../audit.ts';
import { auditJson, auditText } from '../audit-report.ts';
import { openCache } from '../cache.ts';
import { Outlet } from '../outlet.ts';
import { Reporter } from '../reporter.ts';
import { storeFolder } from '../store-folder.ts';
import { ACTION_FLAGS, parseAction } from './action-flags.ts';

const flags = {
  ...ACTION_FLAGS,
  store: {
    type: 'string',
    value: 'DIR',
    text: 'the local store (default: ASSAY_STORE, or the user’s cache folder)',
  },
  reproduce: {
    type: 'boolean',
    text: 'run it again and again from clean copies, with another time, user, path … each time,\nand tell what its result depends on',
  },
  json: {
    type: 'boolean',
    text: 'one JSON object on standard output; what the command says goes to standard error',
  },
} satisfies FlagTable;

const FINDINGS = 3;

export const auditCommand: CommandModule = {
  failureCode: 125,
  help: {
    usage: 'assay audit [FLAGS] -- COMMAND [ARGUMENTS]',
    text: [
      'Runs COMMAND as `assay run` would, under a tracer, and tells what it could see or change beyond what is declared:',
      'files that it read, looked for or listed, files that it wrote elsewhere, network, processes that it left behind.',
      'Nothing is looked up in a cache and nothing is published.',
    ].join('\n'),
    flags,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: {
      '0': 'hermetic: nothing was found, and nothing can have been missed',
      '3': 'findings, or a trace that is not complete',
      'of COMMAND': 'if it failed and nothing was found',
      '125': 'Assay refused the request; nothing ran',
    },
    examples: [
      "assay audit --input 'src/**' --output app -- cc -o app src/main.c",
      'assay audit --json -- make',
      'assay audit --reproduce --output out.tar -- tar cf out.tar src',
    ],
  },
  async main(args) {
    const { flags: parsed, request } = parseAction('audit', args, flags);
    const json = parsed.given('json');
    const [stdout, stderr] = [new Outlet(1), new Outlet(2)];
    const { report } = new Reporter(stderr, json);
    const caller = process.env;
    const folder = storeFolder(parsed.text('store'), caller);
    const cache = openCache({
      storeFolder: folder,
      workspace: request.workspace,
      now: Date.now,
      report,
    });
    try {
      const said = json ? stderr : stdout;
      const context = { cache, caller, stdout: said, stderr, report, now: Date.now };
      const found = await audit(request, context, { reproduce: parsed.given('reproduce') });
      stdout.write(json ? `${auditJson(found)}\n` : auditText(found));
      return found.hermetic ? found.exitCode : FINDINGS;
    } finally {
      await cache.close();
    }
  },
};
