// `assay gc`: evicts from a store until it is within its limit. A server may be running on it.
import {
  type CommandModule,
  type FlagTable,
  parseDuration,
  parseFlags,
  usage,
} from '../../core/cli/command.ts';
import { STORE } from '../../store/limits.ts';
import { openDiskStore } from '../../store/open.ts';
import { parseSizeLimit } from '../../store/size-limit.ts';
import { localLimit } from '../local-store/open.ts';
import { leaseUnshared } from '../local-store/outbox.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { bytesText, counted } from '../view/words.ts';
import { STORE_FLAGS } from './store-flags.ts';

const flags = {
  store: STORE_FLAGS.store,
  'max-size': {
    type: 'string',
    value: 'SIZE',
    text: 'the size to reach: 50GB, 8GiB, or a share of the disk such as 20% (default: the store’s limit)',
  },
  lease: {
    type: 'string',
    value: 'TIME',
    text: 'what was used within this time stays (default: 3h); use the value of the server, if one runs here',
  },
  'dry-run': { type: 'boolean', text: 'remove nothing; report what would be removed' },
  json: STORE_FLAGS.json,
} satisfies FlagTable;

export const gcCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay gc [FLAGS]',
    text: [
      'Removes the least recently used results of a store, and blobs that no result names, until the store is',
      'within its limit. Abandoned uploads are removed too. What was used within the lease stays, even above',
      'the limit. A full store does this by itself. A server can run on the store meanwhile. Its --quota and',
      '--floor do not count here.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_MAX_SIZE: 'the limit of the local store (default: 20 GiB, at most half of the disk)',
    },
    exitCodes: {
      '0': 'the store is within its limit',
      '1': 'leased content alone exceeds the limit',
      '2': 'failed',
    },
    examples: ['assay gc --dry-run', 'assay gc --max-size 5GB', 'assay gc --store /var/lib/assay --json'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay gc takes no arguments');
    const size = parsed.text('max-size');
    const folder = storeFolder(parsed.text('store'), process.env);
    const store = await openDiskStore({
      directory: folder,
      maxSize: size ? parseSizeLimit('--max-size', size) : localLimit(process.env.ASSAY_MAX_SIZE),
      leaseMs: parseDuration('--lease', parsed.text('lease') ?? `${STORE.leaseMs / 1000}s`),
    });
    try {
      const { space } = store;
      const before = space.used();
      const isDryRun = parsed.given('dry-run');
      if (!isDryRun) await leaseUnshared(folder, store, Date.now());
      const swept = isDryRun ? undefined : await store.sweep();
      const evicted = await (isDryRun
        ? space.wouldEvict(space.limit, store.trim)
        : space.evict(space.limit, store.trim));
      const gone = { ...evicted, uploads: evicted.uploads + (swept?.files ?? 0) };
      const left = isDryRun ? before - gone.bytes : space.used();
      const report = { dryRun: isDryRun, limit: space.limit, before, after: left, ...gone };
      new SyncStream(1).write(parsed.given('json') ? `${JSON.stringify(report)}\n` : `${inWords(report)}\n`);
      return left > space.limit ? 1 : 0;
    } finally {
      await store.close();
    }
  },
};

interface GcReport {
  readonly dryRun: boolean;
  readonly limit: number;
  readonly before: number;
  readonly after: number;
  readonly results: number;
  readonly blobs: number;
  readonly uploads: number;
}

function inWords({ dryRun, limit, before, after, results, blobs, uploads }: GcReport): string {
  const tense = dryRun ? 'would remove' : 'removed';
  const rest = after > limit ? '; the rest is in use or within the lease' : '';
  const staged = uploads > 0 ? ` and ${counted(uploads, 'unfinished upload')}` : '';
  return `assay gc: ${tense} ${counted(results, 'result')} and ${counted(blobs, 'blob')}${staged}: ${bytesText(before)} -> ${bytesText(after)}, limit ${bytesText(limit)}${rest}`;
}
