// `assay forget`: removes results by key, namespace, writer, time and bundle. Without --yes it only counts them.
import { statSync } from 'node:fs';
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import { removeStateFiles } from '../../client/up-to-date/state-file.ts';
import { counted } from '../../client/view/words.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { formatColumns } from '../../core/cli/layout.ts';
import { visibleLines } from '../../core/text/visible.ts';
import { forgetEntry, openWriteLog } from '../../store/log/write-log.ts';
import {
  type ForgetProgress,
  type ForgetReport,
  type ForgottenKey,
  forget,
  type Group,
} from '../../store/review/forget.ts';
import { parseSelection, type Selection, selectionTexts, sinceText } from '../../store/review/selection.ts';
import { FORGET } from './limits.ts';
import { REVIEW_ENVIRONMENT, REVIEW_FLAGS, remoteOf, reviewLocally } from './review-flags.ts';

const flags = {
  key: {
    type: 'string',
    multiple: true,
    value: 'HASH',
    text: 'the result with this key, or every result under this key of an action: 64 hex digits',
  },
  namespace: REVIEW_FLAGS.namespace,
  writer: {
    type: 'string',
    value: 'NAME',
    text: 'written by this identity: the name of a token or of a CI job',
  },
  since: {
    type: 'string',
    value: 'TIME',
    text: 'written then or later: 2h, 3d, 2026-11-17 or 2026-11-17T09:30:00Z',
  },
  bundle: {
    type: 'string',
    value: 'DIGEST',
    text: 'stored by the import of this bundle, which `assay show --bundle FILE` names: 64 hex digits',
  },
  yes: { type: 'boolean', text: 'remove them; without it nothing is removed' },
  verbose: { type: 'boolean', short: 'v', text: `list the keys, at most ${FORGET.listed}` },
  store: REVIEW_FLAGS.store,
  remote: REVIEW_FLAGS.remote,
  json: REVIEW_FLAGS.json,
} satisfies FlagTable;

const NOTHING_MATCHED = 3;

export const forgetCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage:
      'assay forget --key HASH | --namespace PATH | --writer NAME | --since TIME | --bundle DIGEST … [--yes] [FLAGS]',
    text: [
      'Finds the results for which all given conditions hold, and counts them by namespace, writer and protocol.',
      'With --yes it removes them. When the command has ended, no server on that store gives them to a client.',
      'What is written after the command began stays. Interrupted, it can be run again.',
      'The key of an action means everything under it: path sets, results, saved state and checkpoints.',
      'Local stores record no writers but imports, so only --key, --namespace and --bundle find something there. What is up to date is forgotten, too.',
      'At a server it needs a token with the right admin, which works at and below the token’s namespace.',
    ].join('\n'),
    flags,
    environment: REVIEW_ENVIRONMENT,
    exitCodes: {
      '0': 'results were found, and with --yes removed',
      '3': 'no result was found',
      '2': 'failed; the message says why',
    },
    examples: [
      'assay forget --store /var/lib/assay --writer ci-pull-requests --since 2d',
      'assay forget --remote https://cache.example --namespace acme/app/pr/123 --yes',
      'assay forget --key 0123…cdef --yes --json',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay forget takes no arguments');
    const selection = parseSelection({
      keys: parsed.all('key'),
      namespace: parsed.text('namespace'),
      writer: parsed.text('writer'),
      since: sinceText(parsed.text('since'), Date.now()),
      bundle: parsed.text('bundle'),
    });
    const json = parsed.given('json');
    const remove = parsed.given('yes');
    const listed = parsed.given('verbose') ? FORGET.listed : 0;
    const onProgress = progressOn(new SyncStream(2), json);
    const remote = remoteOf(parsed);
    const report = remote
      ? await remote.forget({ selection, remove, listed, onProgress })
      : await reviewLocally(parsed, async (_store, review, folder) => {
          const found = await forget(review, { selection, remove, listed, onProgress });
          if (remove) removeStateFiles(folder);
          if (remove) await noteInLog(folder, selection, found.removed);
          return found;
        });
    new SyncStream(1).write(json ? `${JSON.stringify(report)}\n` : inWords(report));
    return report.matched === 0 ? NOTHING_MATCHED : 0;
  },
};

/**
 * Only for the owner of the store: a server could not append to a file of root, and root must not create files
 * where another user decides what lies there.
 */
async function noteInLog(folder: string, selection: Selection, removed: number): Promise<void> {
  const uid = process.geteuid?.() ?? 0;
  const owner = statSync(folder).uid;
  if (uid !== owner) {
    new SyncStream(2).write(
      `assay: the write log does not have this: user ${owner} owns it, not user ${uid}\n`,
    );
    return;
  }
  const log = openWriteLog(folder);
  log.add(
    forgetEntry(selectionTexts(selection), removed, {
      name: `uid ${uid}`,
      from: '',
      via: 'assay forget',
      at: Date.now(),
    }),
  );
  await log.close();
}

/** A line from time to time, if the work takes long. */
function progressOn(screen: SyncStream, json: boolean): (progress: ForgetProgress) => void {
  let saidAt = performance.now();
  return ({ examined, matched, removed }) => {
    const now = performance.now();
    if (now - saidAt < FORGET.progressMs) return;
    saidAt = now;
    const text = json
      ? JSON.stringify({ examined, matched, removed })
      : `assay: forget: ${examined} examined, ${matched} found, ${removed} removed`;
    screen.write(`${text}\n`);
  };
}

function inWords(report: ForgetReport): string {
  const { dryRun, examined, matched, removed, rivals, changed } = report;
  if (matched === 0) return `assay forget: none of ${counted(examined, 'result')} matches\n`;
  const found = `${counted(matched, 'result')}${rivals > 0 ? ` (${rivals} of them diverging)` : ''}`;
  const lines = [
    dryRun
      ? `assay forget: would remove ${found} of ${examined}`
      : `assay forget: removed ${removed} of ${found}`,
    ...groupLines('by namespace', report.namespaces, '(the default namespace)'),
    ...groupLines('by writer', report.writers, '(not recorded)'),
    ...groupLines('by protocol', report.protocols, '(not recorded)'),
    ...keyLines(report.keys),
    ...(changed > 0
      ? [`${counted(changed, 'result')} changed meanwhile and stayed; run the command again`]
      : []),
    ...(dryRun ? ['Nothing was removed. Run the same command with --yes to remove them.'] : []),
  ];
  return `${visibleLines(lines.join('\n'))}\n`;
}

function groupLines(title: string, groups: readonly Group[], unnamed: string): string[] {
  const shown = groups.slice(0, FORGET.groups);
  const rest = groups.slice(FORGET.groups).reduce((sum, { results }) => sum + results, 0);
  const rows = shown.map(({ name, results }): [string, string] => [name || unnamed, String(results)]);
  if (rest > 0) rows.push([`… and ${groups.length - shown.length} more`, String(rest)]);
  return rows.length === 0 ? [] : [title, formatColumns(rows, Number.POSITIVE_INFINITY)];
}

function keyLines(keys: readonly ForgottenKey[]): string[] {
  if (keys.length === 0) return [];
  const lines = keys.map(({ namespace, key, writer, at, isRival }) =>
    ['', key, namespace || '(default)', writer, at, isRival && 'diverging']
      .filter((part) => part !== false && part !== undefined)
      .join(' '),
  );
  return ['keys', ...lines.map((line) => ` ${line}`)];
}
