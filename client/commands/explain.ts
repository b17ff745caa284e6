// `assay explain`: why the last run in this workspace missed, by name.
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/command.ts';
import { AssayError } from '../../core/errors.ts';
import { openDiskStore } from '../../store/stack.ts';
import { type Difference, differences } from '../difference.ts';
import { describe } from '../explain.ts';
import { History, type HistoryEntry } from '../history.ts';
import { Outlet } from '../outlet.ts';
import { storeFolder } from '../store-folder.ts';

const flags = {
  store: {
    type: 'string',
    value: 'DIR',
    text: 'the local store (default: ASSAY_STORE, or the user’s cache folder)',
  },
  json: { type: 'boolean', text: 'one JSON object on standard output' },
} satisfies FlagTable;

export const explainCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay explain [FLAGS]',
    text: [
      'Says why the last `assay run` in this folder hit or missed. For a miss it names every input, variable, tool or',
      'flag that differs from the closest earlier action.',
    ].join('\n'),
    flags,
    environment: { ASSAY_STORE: 'the local store’s folder' },
    examples: ['assay explain', 'assay explain --json'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay explain takes no arguments');
    const folder = storeFolder(parsed.text('store'), process.env);
    const last = lastRun(folder, realpathSync(process.cwd()));
    const found = await differencesOf(last, folder);
    new Outlet(1).write(
      parsed.given('json') ? `${JSON.stringify({ ...last, differences: found })}\n` : text(last, found),
    );
    return 0;
  },
};

function lastRun(folder: string, workspace: string): HistoryEntry {
  const entries = new History(join(folder, 'client', 'history.jsonl')).entries();
  const last = entries.find((entry) => entry.workspace === workspace);
  if (!last)
    throw new AssayError('ASSAY_NO_HISTORY', `nothing was run in ${workspace} with the store ${folder}`);
  return last;
}

async function differencesOf({ key, against }: HistoryEntry, folder: string): Promise<Difference[]> {
  if (against === undefined) return [];
  const store = await openDiskStore({ directory: folder });
  try {
    return await differences(against, key, store.blobs);
  } finally {
    await store.close();
  }
}

function text(last: HistoryEntry, found: readonly Difference[]): string {
  const lines = [
    `command  ${last.command.join(' ')}`,
    `when     ${last.at}`,
    `key      ${last.key}`,
    `outcome  ${last.outcome}: ${last.reason}`,
  ];
  if (last.against !== undefined) {
    lines.push(
      `against  ${last.against}`,
      '',
      'What differs:',
      ...found.map((difference) => `  ${describe(difference)}`),
    );
  }
  return `${lines.join('\n')}\n`;
}
