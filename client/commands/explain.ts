// `assay explain`: why a run was a hit or a miss, with every difference by name and both states. `--run` asks an
// Assay server for a run that was reported to it.
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import type { KeyDifference } from '../../store/actions/difference.ts';
import { seenText, whatDiffers } from '../history/difference-text.ts';
import { differencesOf } from '../history/differences.ts';
import type { HistoryEntry } from '../history/history.ts';
import { HISTORY } from '../limits.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { remoteToken } from '../remote/token.ts';
import { triesText } from '../retry/retry.ts';
import { jsonFlag, jsonForm } from '../terminal/json-form.ts';
import { inOneLine, SyncStream } from '../terminal/sync-stream.ts';
import { resolveEntry } from './resolve-step-arg.ts';
import { STORE_FLAGS } from './store-flags.ts';
import { withStore } from './with-store.ts';

const FLAGS = {
  store: STORE_FLAGS.store,
  json: jsonFlag(STORE_FLAGS.json.text),
  all: { type: 'boolean', text: `list all differences, not only the first ${HISTORY.shownDifferences}` },
  run: { type: 'string', value: 'ID', text: 'a run that was reported to the server of --remote' },
  remote: { type: 'string', value: 'URL', text: 'with --run: the server (default: ASSAY_REMOTE)' },
} satisfies FlagTable;

export const explainCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay explain [FLAGS] [STEP|KEY]\n       assay explain --run ID [FLAGS] [STEP]',
    text: [
      'Explains why the last `assay run` in this folder was a hit or a miss; with STEP or KEY (a prefix is',
      'enough), why that one was. For a miss it lists every input, variable, tool, flag and observed fact that',
      'differs from the closest earlier action, with its states then and now, and where that action was seen.',
      '--run explains a step of a run of anybody: ID is the last part of the address that the run printed.',
    ].join('\n'),
    flags: FLAGS,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'with --run: the server',
      ASSAY_TOKEN: 'sent to the server as a Bearer token',
    },
    exitCodes: {
      '0': 'explained',
      '2': 'no such run, or the action it was compared with is no longer stored',
    },
    examples: [
      'assay explain',
      'assay explain --all web#build',
      'assay explain --json 1f2e3d',
      'assay explain --run 5f0c1e2a9b7d4c3f8e6a0d1b2c3f4e5a web#build',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, FLAGS);
    const [wanted, ...more] = parsed.positionals;
    if (more.length > 0) throw usage('assay explain takes one step or key');
    const shown = parsed.given('all') ? Number.POSITIVE_INFINITY : HISTORY.shownDifferences;
    const run = parsed.text('run');
    const remote = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
    if (run === undefined && parsed.given('remote')) throw usage('--remote goes with --run');
    const out = new SyncStream(1);
    const json = jsonForm(parsed);
    if (run !== undefined) {
      if (!remote) throw usage('--run asks a server: name it with --remote or ASSAY_REMOTE');
      const { explainReported } = await import('../history/reported-step.ts');
      const found = await explainReported(run, wanted, { remote, token: remoteToken() });
      if (json === 'short') {
        const { reportedAnswer } = await import('../short/explain-answer.ts');
        out.write(reportedAnswer(run, found.found));
      } else out.write(json ? `${JSON.stringify(found.json)}\n` : found.text(shown));
      return 0;
    }
    const folder = storeFolder(parsed.text('store'), process.env);
    const entry = await resolveEntry(wanted, folder);
    const found = await differencesIn(entry, folder);
    if (json === 'short') {
      const { explainAnswer } = await import('../short/explain-answer.ts');
      out.write(explainAnswer(entry, found));
      return 0;
    }
    out.write(json ? `${JSON.stringify({ ...entry, differences: found })}\n` : text(entry, found, shown));
    return 0;
  },
};

async function differencesIn(entry: HistoryEntry, folder: string): Promise<KeyDifference[]> {
  if (entry.against === undefined && entry.differences === undefined) return [];
  return withStore(folder, (store) => differencesOf(entry, store));
}

function text(entry: HistoryEntry, found: readonly KeyDifference[], shown: number): string {
  const lines = [
    ...(entry.name === undefined ? [] : [`step     ${entry.name}`]),
    `command  ${entry.command.join(' ')}`,
    `when     ${entry.at}`,
    `key      ${entry.key}`,
    `outcome  ${entry.outcome}: ${entry.reason}`,
    ...(entry.against === undefined ? [] : [`against  ${entry.against}`]),
    ...(entry.tries ? [`tries    ${triesText(entry.tries)}`] : []),
    ...(entry.seen ? [`seen     ${seenText(entry.seen)}`] : []),
    ...whatDiffers(found, { shown }),
  ];
  return `${lines.map(inOneLine).join('\n')}\n`;
}
