// `assay audit`: runs an action under a tracer and reports accesses beyond its declaration.
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseFlags,
  usage,
} from '../../core/cli/command.ts';
import { ROOT } from '../../core/path.ts';
import { type Audit, audit } from '../audit/audit.ts';
import type { Fixed } from '../audit/fix.ts';
import { grouped } from '../audit/groups.ts';
import { auditHtml } from '../audit/page.ts';
import { auditJson, auditText, type TextOptions } from '../audit/report.ts';
import { checkReportFile, writeReport } from '../audit/report-files.ts';
import { auditSarif } from '../audit/sarif.ts';
import { currentFolder } from '../files/current-folder.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { openCache } from '../run/caches.ts';
import { Reporter } from '../run/reporter.ts';
import type { OpenStepHook } from '../run/step-hook.ts';
import { ownLine } from '../terminal/own-line.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { counted } from '../view/words.ts';
import { ACTION_FLAGS } from './action-flags.ts';
import { type NamedStep, parseOneAction } from './one-action.ts';
import { STORE_FLAGS } from './store-flags.ts';

const own = {
  store: STORE_FLAGS.store,
  reproduce: {
    type: 'boolean',
    text: 'also run it several times from clean copies with another time, user, path and so on, and report what its result depends on',
  },
  fix: {
    type: 'boolean',
    text: 'add the missing declarations of a STEP to its assay.json, as patterns; say what it does not declare, and why',
  },
  verbose: {
    type: 'boolean',
    text: 'list every finding with its process, not only groups of them',
  },
  all: {
    type: 'boolean',
    text: 'audit every step after its dependencies, and rank them',
  },
  sarif: {
    type: 'string',
    value: 'FILE',
    text: 'write the findings as SARIF 2.1.0, for code scanning; "-" is standard output',
  },
  html: {
    type: 'string',
    value: 'FILE',
    text: 'write a self-contained page with findings, processes and files',
  },
  json: {
    type: 'boolean',
    text: 'print one JSON object on standard output; the command’s output goes to standard error',
  },
} satisfies FlagTable;

const FINDINGS = 3;

export const auditCommand = (stepHook: OpenStepHook): CommandModule => ({
  failureCode: 125,
  help: {
    usage:
      'assay audit [FLAGS] STEP\n       assay audit [FLAGS] --all\n       assay audit [FLAGS] -- COMMAND [ARGUMENTS]',
    text: [
      'Runs COMMAND, or the command of a STEP, as `assay run` would, under a tracer. Reports every access',
      'beyond the declaration, in groups, the most urgent first:',
      '',
      '  fix     network, daemons, survivors, changed inputs: no result is kept',
      '  left    files that no output names: a hit needs them as they were left',
      '  advice  what it read, looked for or listed: compared before every hit',
      '',
      'Advice costs only a longer check before a hit. Declared, it is part of the key, which then explains a miss.',
      'An audit looks nothing up in a cache and publishes nothing.',
      '',
      'The inputs of a STEP must exist: run `assay run STEP` first.',
    ].join('\n'),
    flags: { ...ACTION_FLAGS, ...own },
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: {
      '0': 'declared: no finding, and the trace is complete',
      '3': 'findings, advice included, or an incomplete trace',
      'of COMMAND': 'the command failed, and there is no finding',
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
    if (wantsAll(args)) return auditAllSteps(args, stepHook);
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
      const output = forMachine ? stderr : stdout;
      const context = { cache, caller, stdout: output, stderr, report, stepHook, now: Date.now };
      const seen = await audit(request, context, { reproduce: parsed.given('reproduce') });
      const found = grouped(named ? await ofStep(seen, named) : seen, request, named?.step.folder ?? ROOT);
      const sarifText = () => `${JSON.stringify(auditSarif(found, request), undefined, 2)}\n`;
      if (page !== undefined) writeReport(page, auditHtml(found, request));
      if (sarif !== undefined && sarif !== '-') writeReport(sarif, sarifText());
      if (json) stdout.write(`${auditJson(found)}\n`);
      else output.write(auditText(found, textOptions(parsed, output, named)));
      if (sarif === '-') stdout.write(sarifText());
      if (named && parsed.given('fix')) {
        const { fixStep } = await import('../audit/fix.ts');
        const fixed = await fixStep(named.root, named.step, found, context);
        stderr.write(fixedText(fixed, stderr));
      }
      return found.hermetic ? found.exitCode : FINDINGS;
    } finally {
      await cache.close();
    }
  },
});

function textOptions(flags: ParsedFlags, output: SyncStream, named: NamedStep | undefined): TextOptions {
  const canFix = named !== undefined && !flags.given('fix');
  return {
    columns: output.columns,
    isVerbose: flags.given('verbose'),
    ...(canFix && { fixable: named.step.id }),
  };
}

/** Loads the graph only for a step. */
async function ofStep(seen: Audit, { step, steps }: NamedStep): Promise<Audit> {
  const { withDependencyFixes } = await import('../config/dependency-fix.ts');
  return { ...seen, findings: withDependencyFixes(seen.findings, step, steps) };
}

function wantsAll(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--all');
}

/** How many reasons are shown. */
const MOST_REFUSALS = 6;

function fixedText({ added, file, left, refused }: Fixed, screen: SyncStream): string {
  const rest = left === 0 ? '' : `; ${counted(left, 'finding')} need more than a declaration`;
  const more = refused.length - MOST_REFUSALS;
  const lines = [
    ...refused
      .slice(0, MOST_REFUSALS)
      .map(({ value, paths, why }) => `${value} ${paths === 1 ? 'was' : 'were'} not added: ${why}`),
    ...(more > 0 ? [`${counted(more, 'more group')} of findings were not added`] : []),
    added > 0
      ? `${counted(added, 'declaration')} added to ${file}${rest}; run the audit again`
      : `nothing to add to ${file}${rest}`,
  ];
  return lines.map((line) => ownLine(line, screen)).join('');
}

/** Output of commands goes to standard error. Loads the configuration and the graph only here. */
async function auditAllSteps(args: readonly string[], stepHook: OpenStepHook): Promise<number> {
  const flags = parseFlags(args, own);
  const [stray] = flags.positionals;
  if (stray !== undefined) throw usage(`--all audits every step: leave out ${JSON.stringify(stray)}`);
  if (flags.given('sarif') || flags.given('html')) throw usage('--sarif and --html need one step, not --all');
  const { openWorkspace } = await import('../graph/opened-workspace.ts');
  const { allHermetic, allJson, allText, auditAll } = await import('../audit/all.ts');
  const caller = process.env;
  const store = storeFolder(flags.text('store'), caller);
  const workspace = await openWorkspace(currentFolder(), store, caller);
  const stderr = new SyncStream(2);
  const { report } = new Reporter(stderr, false);
  const cache = openCache({ storeFolder: store, workspace: workspace.root, now: Date.now, report });
  try {
    const options = { ...workspace, reproduce: flags.given('reproduce'), fix: flags.given('fix') };
    const context = { cache, caller, stdout: stderr, stderr, report, stepHook, now: Date.now };
    const audited = await auditAll(options, context);
    new SyncStream(1).write(flags.given('json') ? `${allJson(audited)}\n` : allText(audited));
    return allHermetic(audited) ? 0 : FINDINGS;
  } finally {
    await cache.close();
  }
}
