// `assay show`: everything that the store has about a key.
import { type CommandModule, parseFlags, usage } from '../../core/cli/command.ts';
import { NO_TRACER } from '../../core/evidence.ts';
import { commandText } from '../../hermeticity/verdict/finding.ts';
import {
  type ActionDetails,
  actionDetails,
  type FactDetails,
  type FileDetails,
  type ResultDetails,
} from '../history/action-details.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { durationText } from '../run/reporter.ts';
import { inOneLine, SyncStream } from '../terminal/sync-stream.ts';
import { bytesText, counted } from '../view/words.ts';
import { resolveKey } from './resolve-step-arg.ts';
import { STORE_FLAGS } from './store-flags.ts';
import { withStore } from './with-store.ts';

export const showCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay show [FLAGS] KEY|STEP',
    text: 'Shows what a key was computed from (command, inputs, variables, tools, platform) and its result\n(outputs, log, times, evidence). All paths are relative to the workspace’s root.',
    flags: STORE_FLAGS,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: { '0': 'shown', '2': 'no such key or step, or its action is not stored' },
    examples: ['assay show web#build', 'assay show --json 1f2e3d | jq .inputs'],
  },
  async main(args) {
    const parsed = parseFlags(args, STORE_FLAGS);
    const [wanted, ...more] = parsed.positionals;
    if (wanted === undefined || more.length > 0) throw usage('assay show takes one key or step');
    const folder = storeFolder(parsed.text('store'), process.env);
    const key = await resolveKey(wanted, folder);
    const shown = await withStore(folder, (store) => actionDetails(key, store));
    new SyncStream(1).write(parsed.given('json') ? `${JSON.stringify(shown)}\n` : text(shown));
    return 0;
  },
};

/** How many files are listed; --json lists all. */
const MOST_FILES = 50;

function text(shown: ActionDetails): string {
  const lines = [
    `key       ${shown.key}`,
    `command   ${commandText(shown.command)}`,
    `folder    ${shown.workingDirectory || '.'}`,
    ...table('platform', shown.platform),
    ...table('variables', shown.environment),
    ...table('tools', shown.tools),
    ...files('inputs', shown.inputs),
    ...(shown.result ? resultLines(shown.result) : ['', 'no result is stored']),
  ];
  return `${lines.map(inOneLine).join('\n')}\n`;
}

function resultLines(result: ResultDetails): string[] {
  const { where, commit, assay, inputs, tries } = result.receipt;
  const how = tries === undefined ? '' : `, by try ${tries} of its command`;
  const took = result.commandMs === undefined ? '' : `, took ${durationText(result.commandMs)}`;
  return [
    '',
    `ended     with ${result.exitCode}${took}`,
    ...(result.startedAt === undefined ? [] : [`started   ${result.startedAt}`]),
    ...(where === undefined ? [] : [`ran on    ${where}`]),
    ...(commit === undefined ? [] : [`commit    ${commit}`]),
    ...(assay === undefined ? [] : [`made by   Assay ${assay}, from ${counted(inputs ?? 0, 'input')}${how}`]),
    `printed   ${bytesText(result.stdoutBytes)} to standard output, ${bytesText(result.stderrBytes)} to standard error`,
    ...files('outputs', result.outputs),
    ...evidenceLines(result),
    ...factLines(result),
  ];
}

/** Few facts are no paths, and people ask for those: they come first. */
function factLines({ facts }: ResultDetails): string[] {
  if (facts.length === 0) return [];
  const rank = ({ what }: FactDetails) => (/^the machine's | in \/etc\/ld\.so\.cache$/.test(what) ? 0 : 1);
  const sorted = [...facts].sort((a, b) => rank(a) - rank(b));
  const more = facts.length > MOST_FILES ? [`  … and ${facts.length - MOST_FILES} more`] : [];
  return [
    '',
    `facts: ${facts.length}, all compared before a hit`,
    ...sorted
      .slice(0, MOST_FILES)
      .map(({ what, state, note }) => `  ${[what, shortState(state), note].filter(Boolean).join(', ')}`),
    ...more,
  ];
}

function shortState(state: string): string {
  return state.replace(/[0-9a-f]{64}/, (hash) => hash.slice(0, 12));
}

function evidenceLines({ status, evidence }: ResultDetails): string[] {
  if (!evidence) return ['', `evidence: none (${status})`];
  const { tracer, tracerVersion, findings, gaps, sandboxed } = evidence;
  const where = sandboxed ? ', in a sandbox' : '';
  const by = tracer === NO_TRACER ? 'by nobody' : `by ${tracer} ${tracerVersion}`;
  return [
    '',
    `evidence: ${status}, watched ${by}${where}`,
    ...findings.map(({ kind, path, detail }) => `  ${kind} ${[path, detail].filter(Boolean).join(': ')}`),
    ...gaps.map((gap) => `  incomplete trace: ${gap}`),
  ];
}

function table(title: string, values: Readonly<Record<string, string>>): string[] {
  const rows = Object.entries(values).map(([name, value]) => `  ${name} = ${value}`);
  return rows.length === 0 ? [] : ['', title, ...rows];
}

function files(title: string, all: readonly FileDetails[]): string[] {
  const size = all.reduce((sum, file) => sum + (file.size ?? 0), 0);
  const rows = all.slice(0, MOST_FILES).map(fileLine);
  const more = all.length > MOST_FILES ? [`  … and ${all.length - MOST_FILES} more`] : [];
  return [
    '',
    `${title}: ${all.length}, ${bytesText(size)}${all.length > 0 ? ', relative to the workspace’s root' : ''}`,
    ...rows,
    ...more,
  ];
}

function fileLine({ path, hash, size, target }: FileDetails): string {
  return target === undefined
    ? `  ${hash?.slice(0, 12)}  ${path} (${bytesText(size ?? 0)})`
    : `  ${path} -> ${target}`;
}
