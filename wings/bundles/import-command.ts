// `assay import`: takes the results of a bundle into the local store, or sends them on to a server.
import { STORE_FLAGS } from '../../client/commands/store-flags.ts';
import { localLimit } from '../../client/local-store/open.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { remoteToken } from '../../client/remote/token.ts';
import { parseRemoteUrl } from '../../client/remote/url.ts';
import { expectLongRun } from '../../core/bun.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { viaBundle } from '../../core/metadata/bundle.ts';
import { bytes, counted } from '../../core/text/amounts.ts';
import { visibleLines } from '../../core/text/visible.ts';
import { importEntry, openWriteLog } from '../../store/log/write-log.ts';
import { openDiskStore } from '../../store/open.ts';
import { loadChecksum } from '../../store/shared/checksum.ts';
import { bytesOfLimit } from '../../store/size-limit.ts';
import type { Store, Writer } from '../../store/store.ts';
import { trustedKey } from './format/signature.ts';
import { fileSource, type Source, streamSource } from './format/source.ts';
import { type Imported, type ImportProgress, importBundle } from './import/import.ts';
import type { BundleManifest } from './import/manifest.ts';
import { type Destination, localDestination } from './import/publish.ts';
import { bundleAt } from './oci.ts';
import { ShownProgress } from './progress.ts';
import type { RemotePlace } from './remote-destination.ts';

const SOME_REFUSED = 1;
const STANDARD = '-';

const flags = {
  trust: {
    type: 'string',
    multiple: true,
    value: 'KEY',
    text: 'take it only if this public key signed it: Ed25519, a PEM file; of several, one is enough',
  },
  remote: {
    type: 'string',
    value: 'URL',
    text: 'send it on to the token’s namespace at this server; ASSAY_REMOTE is not used',
  },
  store: STORE_FLAGS.store,
  json: {
    type: 'boolean',
    text: 'print one JSON object on standard output, and progress as one JSON object per line on standard error',
  },
} satisfies FlagTable;

export const importCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay import [--trust KEY] [FLAGS] FILE',
    text: [
      'Takes the results of a bundle that `assay export` wrote into the local store. FILE may be - for standard input, or the folder of an OCI layout.',
      'With --remote it sends them on to the namespace of the token at that server, whatever the bundle says. It passes through the local store.',
      'Every byte is verified before any result is visible. If it is interrupted, repeat it: it goes on. A result that the store has stays.',
      'The facts of a result prove that it fits here, not that it is honest: trust a bundle as you trust its maker. --trust demands a signature.',
      'Results of a bundle count as those of a server: an unproven one is taken only with --keep-unproven=shared. `assay forget --bundle DIGEST --yes` takes all of it back.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_TOKEN: 'with --remote: sent to the server as a Bearer token',
      ASSAY_MAX_SIZE: 'its size limit: a larger bundle is refused before any of it is unpacked',
    },
    exitCodes: {
      '0': 'all of it is in the store',
      '1': 'some results or labels were refused, because the store has others; all the rest is in the store',
      '2': 'failed; the error says why, and nothing of it is visible',
    },
    examples: [
      'assay import warm.bundle',
      'assay import --trust maker.pub.pem nightly.bundle',
      'ssh builder assay export --steps build - | assay import -',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const [file, ...more] = parsed.positionals;
    if (file === undefined || more.length > 0)
      throw usage('assay import takes one file, or - for standard input');
    const trusted = parsed.all('trust').map(trustedKey);
    const folder = storeFolder(parsed.text('store'), process.env);
    const progress = new ShownProgress('import', parsed.given('json'));
    const remote = parsed.text('remote');
    const place = remote === undefined ? undefined : { url: parseRemoteUrl(remote), token: remoteToken() };
    const source = await sourceOf(file);
    await loadChecksum();
    expectLongRun();
    const maxSize = localLimit(process.env.ASSAY_MAX_SIZE);
    const store = await openDiskStore({ directory: folder, maxSize });
    try {
      const imported = await importBundle({
        ...{ source, store, trusted },
        maxBytes: bytesOfLimit(maxSize, folder),
        destination: (manifest) => destinationOf(manifest, store, place, progress),
        onProgress: (done) => progress.show(done, () => progressText(done)),
      });
      if (!place) await noteInLog(folder, imported);
      progress.report(reportOf(imported), visibleLines(importedText(imported)));
      return imported.refused > 0 ? SOME_REFUSED : 0;
    } finally {
      progress.end();
      source.close();
      await store.close();
    }
  },
};

export async function sourceOf(file: string): Promise<Source> {
  return file === STANDARD ? streamSource(process.stdin) : fileSource(bundleAt(file));
}

async function destinationOf(
  manifest: BundleManifest,
  store: Store,
  place: RemotePlace | undefined,
  progress: ShownProgress,
): Promise<Destination> {
  const { bundle } = manifest;
  if (!place) return localDestination(store, importerOf(viaBundle(bundle)));
  const { RemoteKinds, remoteDestination } = await import('./remote-destination.ts');
  return remoteDestination(new RemoteKinds(place, bundle), manifest, store, (done, of) =>
    progress.show({ doing: 'sending', done, of }, () => `sent ${done} of ${counted(of, 'blob')}`),
  );
}

function importerOf(via: string): Writer {
  return { name: `uid ${process.geteuid?.() ?? 0}`, from: '', via, at: Date.now() };
}

async function noteInLog(folder: string, { manifest: { bundle }, stored }: Imported): Promise<void> {
  const log = openWriteLog(folder);
  log.add(importEntry(stored, importerOf(viaBundle(bundle))));
  await log.close();
}

function progressText({ doing, done, of, bytes: read = 0, ofBytes = 0 }: ImportProgress): string {
  if (doing === 'content') return `${bytes(read)} of ${bytes(ofBytes)}, ${counted(done, 'blob')} of ${of}`;
  return doing === 'manifest' ? 'reading what is inside' : `${done} of ${counted(of, 'result')}`;
}

function reportOf({
  manifest,
  isSigned,
  lacked,
  stored,
  unchanged,
  labels,
  refused,
  refusals,
}: Imported): object {
  const { bundle, made } = manifest;
  const blobs = { lacked: lacked.blobs, bytes: lacked.bytes };
  return { bundle, made, isSigned, stored, unchanged, labels, blobs, refused, refusals };
}

function importedText(imported: Imported): string {
  const { manifest, isSigned, lacked, stored, unchanged, labels, refused, refusals } = imported;
  const { bundle, made } = manifest;
  const where = made.where === '' ? '' : ` on ${made.where}`;
  const others = unchanged === 0 ? '' : `, ${unchanged} were there already`;
  const named = labels === 0 ? '' : `, ${counted(labels, 'label')}`;
  const rest = refused - refusals.length;
  return [
    `${counted(stored, 'result')}${others}${named}; ${counted(lacked.blobs, 'blob')} were new, ${bytes(lacked.bytes)}`,
    `bundle ${bundle}, ${isSigned ? 'signed' : 'not signed'}`,
    `made ${made.at}${where} by Assay ${made.assay}, as it says itself`,
    ...refusals.map((why) => `refused: ${why}`),
    ...(rest > 0 ? [`refused: ${rest} more`] : []),
  ].join('\n');
}
