// `assay audit`: runs an action under a tracer and tells what it saw or changed beyond its declaration.
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { type Audit, audit } from '../audit/audit.ts';
import type { Fixed } from '../audit/fix.ts';
import { auditHtml } from '../audit/page.ts';
import { auditJson, auditText } from '../audit/report.ts';
import { checkReportFile, writeReport } from '../audit/report-files.ts';
import { auditSarif } from '../audit/sarif.ts';
import { counted } from '../graph/view/words.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { openCache } from '../run/caches.ts';
import { Reporter } from '../run/reporter.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { ACTION_FLAGS } from './action-flags.ts';
import { type NamedStep, parseOneAction } from './one-action.ts';
import { STORE_FLAGS } from './store-flags.ts';

const own = {
  store: STORE_FLAGS.store,
  reproduce: {
    type: 'boolean',
    text: 'run it again and again from clean copies, with another time, user, path … each time,\nand tell what its result depends on',
  },
  fix: {
    type: 'boolean',
    text: 'write what a STEP has not declared into assay.json',
  },
  all: {
    type: 'boolean',
    text: 'audit every step, each after those that it depends on, and rank them',
  },
  sarif: {
    type: 'string',
    value: 'FILE',
    text: 'write the findings as SARIF 2.1.0, for code scanning; "-" is standard output',
  },
  html: {
    type: 'string',
    value: 'FILE',
    text: 'write a page with findings, processes and files, which needs nothing beside it',
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
    usage:
      'assay audit [FLAGS] STEP\n       assay audit [FLAGS] --all\n       assay audit [FLAGS] -- COMMAND [ARGUMENTS]',
    text: [
      'Runs COMMAND, or the command of a STEP of assay.json, as `assay run` would, under a tracer, and tells what it could see',
      'or change beyond what is declared: files that it read, looked for or listed, files that it wrote elsewhere, network,',
      'processes that it left behind. Nothing is looked up in a cache and nothing is published.',
      'What a STEP builds on must be there: `assay run STEP` first.',
    ].join('\n'),
    flags: { ...ACTION_FLAGS, ...own },
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: {
      '0': 'hermetic: nothing was found, and nothing can have been missed',
      '3': 'findings, or a trace that is not complete',
      'of COMMAND': 'if it failed and nothing was found',
      '125': 'Assay refused the request; nothing ran',
      '127': 'COMMAND was not found',
    },
    examples: [
      'assay audit build',
      'assay audit --fix build',
      'assay audit --all',
      "assay audit --input 'src/**' --output app -- cc -o app src/main.c",
      'assay audit --json -- make',
      'assay audit --sarif audit.sarif --html audit.html -- make',
      'assay audit --reproduce --output out.tar -- tar cf out.tar src',
    ],
  },
  async main(args) {
    if (wantsAll(args)) return auditAllSteps(args);
    const { flags: parsed, request, caller, named } = await parseOneAction('audit', args, own);
    if (parsed.given('fix') && !named) throw usage('--fix writes into assay.json: name a STEP');
    const json = parsed.given('json');
    const [sarif, page] = [parsed.text('sarif'), parsed.text('html')];
    if (json && sarif === '-') throw usage('--json and --sarif - both want standard output');
    checkReportFile('--sarif', sarif);
    checkReportFile('--html', page);
    const [stdout, stderr] = [new SyncStream(1), new SyncStream(2)];
    const forMachine = json || sarif === '-';
    const { report } = new Reporter(stderr, json);
    const folder = storeFolder(parsed.text('store'), process.env);
    const cache = openCache({
      storeFolder: folder,
      workspace: request.workspace,
      now: Date.now,
      report,
    });
    try {
      const said = forMachine ? stderr : stdout;
      const context = { cache, caller, stdout: said, stderr, report, now: Date.now };
      const seen = await audit(request, context, { reproduce: parsed.given('reproduce') });
      const found = named ? await ofStep(seen, named) : seen;
      const sarifText = () => `${JSON.stringify(auditSarif(found, request), undefined, 2)}\n`;
      if (page !== undefined) writeReport(page, auditHtml(found, request));
      if (sarif !== undefined && sarif !== '-') writeReport(sarif, sarifText());
      if (json) stdout.write(`${auditJson(found)}\n`);
      else said.write(auditText(found));
      if (sarif === '-') stdout.write(sarifText());
      if (named && parsed.given('fix')) {
        const { fixStep } = await import('../audit/fix.ts');
        stderr.write(fixedText(await fixStep(named.root, named.step, found.findings, context)));
      }
      return found.hermetic ? found.exitCode : FINDINGS;
    } finally {
      await cache.close();
    }
  },
};

/** The graph is loaded only for a step. */
async function ofStep(seen: Audit, { step, steps }: NamedStep): Promise<Audit> {
  const { withDependencyFixes } = await import('../config/dependency-fix.ts');
  return { ...seen, findings: withDependencyFixes(seen.findings, step, steps) };
}

function wantsAll(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--all');
}

function fixedText({ added, file, left, refused }: Fixed): string {
  const rest = left === 0 ? '' : `; ${counted(left, 'finding')} can’t be mended by a declaration`;
  const told = refused.map(({ value, why }) => `assay: ${value} is not written: ${why}\n`).join('');
  if (added > 0)
    return `${told}assay: ${counted(added, 'declaration')} written into ${file}${rest}; audit it again\n`;
  return refused.length > 0 ? told : `assay: nothing had to be written into ${file}${rest}\n`;
}

/** What the commands say goes to standard error. The configuration and the graph are loaded only here. */
async function auditAllSteps(args: readonly string[]): Promise<number> {
  const flags = parseFlags(args, own);
  const [stray] = flags.positionals;
  if (stray !== undefined) throw usage(`--all takes no step, but there is ${JSON.stringify(stray)}`);
  if (flags.given('sarif') || flags.given('html')) throw usage('--sarif and --html are about one step');
  const { stateFolder, openWorkspace } = await import('../graph/opened-workspace.ts');
  const { allHermetic, allJson, allText, auditAll } = await import('../audit/all.ts');
  const caller = process.env;
  const workspace = await openWorkspace(process.cwd(), stateFolder(flags.text('store')), caller);
  const stderr = new SyncStream(2);
  const { report } = new Reporter(stderr, false);
  const cache = openCache({
    storeFolder: storeFolder(flags.text('store'), caller),
    workspace: workspace.root,
    now: Date.now,
    report,
  });
  try {
    const options = { ...workspace, reproduce: flags.given('reproduce'), fix: flags.given('fix') };
    const context = { cache, caller, stdout: stderr, stderr, report, now: Date.now };
    const audited = await auditAll(options, context);
    new SyncStream(1).write(flags.given('json') ? `${allJson(audited)}\n` : allText(audited));
    return allHermetic(audited) ? 0 : FINDINGS;
  } finally {
    await cache.close();
  }
}
