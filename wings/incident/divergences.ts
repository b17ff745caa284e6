// `assay divergences`: keys with two results, who wrote them, and the first byte in which they differ.

import { resultDifferenceText } from '../../client/check-hits/difference-text.ts';
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import { counted } from '../../client/view/words.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { isNamespaceAtOrBelow, parseNamespace } from '../../core/namespace.ts';
import { visibleLines } from '../../core/text/visible.ts';
import { type ListedDivergence, type ListedWriter, listDivergences } from '../../store/review/divergences.ts';
import { REVIEW_ENVIRONMENT, REVIEW_FLAGS, remoteOf, reviewLocally } from './review-flags.ts';

const flags = REVIEW_FLAGS satisfies FlagTable;

export const divergencesCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay divergences [FLAGS]',
    text: [
      'Lists each key that has two results with different outputs: who wrote each of them, when, and the first',
      'output and byte in which they differ. Clients get the first result. A step whose runs differ is not',
      'deterministic; two writers that differ may be an attack. A server lists at most 100.',
    ].join('\n'),
    flags,
    environment: REVIEW_ENVIRONMENT,
    exitCodes: { '0': 'listed, also if there are none', '2': 'failed; the message says why' },
    examples: [
      'assay divergences --store /var/lib/assay',
      'assay divergences --remote https://cache.example --namespace acme/app --json',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay divergences takes no arguments');
    const below = parseNamespace(parsed.text('namespace') ?? '');
    const remote = remoteOf(parsed);
    const listed = remote
      ? await remote.divergences(parsed.text('namespace'))
      : await reviewLocally(parsed, async (store, review) => {
          const isShown = (namespace: typeof below) => isNamespaceAtOrBelow(namespace, below);
          const found = listDivergences(review, store.blobs, { isShown, withAddresses: true });
          return { divergences: await Array.fromAsync(found), more: false };
        });
    new SyncStream(1).write(parsed.given('json') ? `${JSON.stringify(listed)}\n` : inWords(listed));
    return 0;
  },
};

function inWords({ divergences, more }: { divergences: readonly ListedDivergence[]; more: boolean }): string {
  const lines = divergences.flatMap(({ namespace, key, first, second, difference, checked }) => [
    `${key} ${namespace || '(the default namespace)'}`,
    `  first   ${writerText(first)}`,
    `  second  ${writerText(second)}`,
    `  ${resultDifferenceText(difference, ['first', 'second'])}`,
    ...(checked ? [`  ${CHECKED[checked]}`] : []),
    '',
  ]);
  const total = more
    ? `more than ${divergences.length} divergences`
    : counted(divergences.length, 'divergence');
  return `${visibleLines([...lines, `assay divergences: ${total}`].join('\n'))}\n`;
}

/** What `assay run --check-hits` found. */
const CHECKED = {
  different: 'a check of the first made the second, twice: the first is stale',
  unstable: 'a check of the first ran its command twice, and the two runs differ',
} as const;

function writerText(writer: ListedWriter | null): string {
  if (!writer) return 'its writer was not recorded';
  const { name, from, protocol, at } = writer;
  return `${at} ${name}${from ? ` from ${from}` : ''}, ${protocol}`;
}
