// `assay explain`: why a run was a hit or a miss, with every difference by name.
import { type CommandModule, parseFlags, usage } from '../../core/cli/command.ts';
import { type Difference, differences } from '../../store/actions/difference.ts';
import type { HistoryEntry } from '../history/history.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { describe } from '../run/explain.ts';
import { inOneLine, SyncStream } from '../terminal/sync-stream.ts';
import { resolveEntry } from './resolve-step-arg.ts';
import { STORE_FLAGS } from './store-flags.ts';
import { withStore } from './with-store.ts';

export const explainCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay explain [FLAGS] [STEP|KEY]',
    text: [
      'Explains why the last `assay run` in this folder was a hit or a miss; with STEP or KEY (a prefix is',
      'enough), why that one was. For a miss it lists every input, variable, tool or flag that differs from the',
      'closest earlier action.',
    ].join('\n'),
    flags: STORE_FLAGS,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    exitCodes: {
      '0': 'explained',
      '2': 'no such run, or the action it was compared with is no longer stored',
    },
    examples: ['assay explain', 'assay explain web#build', 'assay explain --json 1f2e3d'],
  },
  async main(args) {
    const parsed = parseFlags(args, STORE_FLAGS);
    const [wanted, ...more] = parsed.positionals;
    if (more.length > 0) throw usage('assay explain takes one step or key');
    const folder = storeFolder(parsed.text('store'), process.env);
    const entry = await resolveEntry(wanted, folder);
    const found = await differencesOf(entry, folder);
    new SyncStream(1).write(
      parsed.given('json') ? `${JSON.stringify({ ...entry, differences: found })}\n` : text(entry, found),
    );
    return 0;
  },
};

async function differencesOf({ key, against }: HistoryEntry, folder: string): Promise<Difference[]> {
  if (against === undefined) return [];
  return withStore(folder, ({ blobs }) => differences(against, key, blobs));
}

function text(entry: HistoryEntry, found: readonly Difference[]): string {
  const lines = [
    ...(entry.name === undefined ? [] : [`step     ${entry.name}`]),
    `command  ${entry.command.join(' ')}`,
    `when     ${entry.at}`,
    `key      ${entry.key}`,
    `outcome  ${entry.outcome}: ${entry.reason}`,
  ];
  if (entry.against !== undefined) {
    lines.push(
      `against  ${entry.against}`,
      '',
      'What differs:',
      ...found.map((difference) => `  ${describe(difference)}`),
    );
  }
  return `${lines.map(inOneLine).join('\n')}\n`;
}
