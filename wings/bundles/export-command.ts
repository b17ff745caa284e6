// `assay export`: writes results of the local store or of a server, with all that they name, into one file.

import { resolveKey } from '../../client/commands/resolve-step-arg.ts';
import { STORE_FLAGS } from '../../client/commands/store-flags.ts';
import { withStore } from '../../client/commands/with-store.ts';
import { currentFolder } from '../../client/files/current-folder.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { remoteToken } from '../../client/remote/token.ts';
import { parseRemoteUrl } from '../../client/remote/url.ts';
import { placeOf } from '../../client/run/run-origin.ts';
import { expectLongRun } from '../../core/bun.ts';
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseDuration,
  parseFlags,
  usage,
} from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import { DEFAULT_NAMESPACE, type Namespace, namespaceBelow, parseNamespace } from '../../core/namespace.ts';
import { bytes, counted } from '../../core/text/amounts.ts';
import { VERSION } from '../../core/version.ts';
import { refuseIfNoStore } from '../../store/disk/fs/layout.ts';
import { loadChecksum } from '../../store/shared/checksum.ts';
import type { Store } from '../../store/store.ts';
import { type Collected, collectBundle, type LeftOut } from './export/collect.ts';
import { exportBundle } from './export/export.ts';
import { privateSets } from './export/private-sets.ts';
import { reportLines } from './export/report.ts';
import { storeSource } from './export/source.ts';
import { keysOfSteps, type WantedResult } from './export/wanted.ts';
import type { Maker } from './format/records.ts';
import { privateKey } from './format/signature.ts';
import { ociOutput } from './oci.ts';
import { type BundleOutput, fileOutput, standardOutput } from './output.ts';
import { ShownProgress } from './progress.ts';
import type { RemotePlace } from './remote-destination.ts';

const NOTHING_FOUND = 3;
const STANDARD = '-';

const flags = {
  steps: {
    type: 'string',
    multiple: true,
    value: 'NAME[,NAME…]',
    text: 'the results of these steps and of those that they depend on: of the files as they are, and of the last run',
  },
  key: {
    type: 'string',
    multiple: true,
    value: 'KEY',
    text: 'everything under this key of an action: results, saved state, checkpoints',
  },
  label: {
    type: 'string',
    multiple: true,
    value: 'TEXT',
    text: 'what was saved under labels that begin with this text (assay save, assay checkpoint)',
  },
  since: {
    type: 'string',
    value: 'TIME',
    text: 'of all that, only what was made then or later: 2h, 3d, 2026-11-17 or 2026-11-17T09:30:00Z',
  },
  sign: { type: 'string', value: 'KEY', text: 'sign it with this private key: Ed25519, a PEM file' },
  oci: { type: 'boolean', text: 'FILE is a folder: write an OCI image layout whose one layer is the bundle' },
  'for-report': {
    type: 'boolean',
    text: 'for a bug report: FILE is text without any content and without what looks like a secret; read it before you send it',
  },
  remote: {
    type: 'string',
    value: 'URL',
    text: 'from the token’s namespace at this Assay server instead of the local store; ASSAY_REMOTE is not used',
  },
  namespace: { type: 'string', value: 'PATH', text: 'with --store of a server: from this namespace' },
  store: STORE_FLAGS.store,
  json: {
    type: 'boolean',
    text: 'print one JSON object on standard output, and progress as one JSON object per line on standard error',
  },
} satisfies FlagTable;

export const exportCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay export [--steps NAME[,NAME…]] [--key KEY] [--label TEXT] [--since TIME] [FLAGS] FILE',
    text: [
      'Writes results with all that they name into FILE: outputs, logs, evidence, facts, labels and checkpoints. `assay import FILE` takes them on another machine, where each is a hit only if its facts hold there.',
      'Without --steps, --key and --label it takes everything that the store has. FILE may be - for standard output.',
      'It leaves out what would not be sent to a server either: what holds in one workspace only, and what may tell the content of a private file. It says how many results that were.',
      'Outputs and logs are in the file as they are. Give it only to people who may see them.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_TOKEN: 'with --remote: sent to the server as a Bearer token',
    },
    exitCodes: {
      '0': 'FILE is written',
      '3': 'nothing was found; no FILE is written',
      '2': 'failed; the error says why, and no FILE is written',
    },
    examples: [
      'assay export --steps build,test warm.bundle',
      'assay export --label nightly/ --since 2d --sign key.pem nightly.bundle',
      'assay export --steps train - | ssh other assay import -',
      'assay export --for-report --steps build report.jsonl',
      'assay export --remote https://old.example - | assay import --remote https://new.example -',
      'assay export --steps build --oci warm && skopeo copy oci:warm docker://registry.example/warm-cache',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const [file, ...more] = parsed.positionals;
    if (file === undefined || more.length > 0)
      throw usage('assay export takes one file, or - for standard output');
    const isPiped = file === STANDARD;
    if (isPiped && parsed.given('oci'))
      throw usage('an OCI layout is a folder: it can’t go to standard output');
    if (isPiped && process.stdout.isTTY)
      throw usage('a bundle is no text: name a file, or send it through a pipe');
    const signing = parsed.text('sign');
    const key = signing === undefined ? undefined : privateKey(signing);
    const folder = storeFolder(parsed.text('store'), process.env);
    const remote = parsed.text('remote');
    const place = remote === undefined ? undefined : { url: parseRemoteUrl(remote), token: remoteToken() };
    if (place && parsed.given('namespace')) throw usage('the token decides the namespace at a server');
    if (!place) refuseIfNoStore(folder);
    const identity = parseNamespace(parsed.text('namespace') ?? '');
    await loadChecksum();
    expectLongRun();
    const wanted = await wantedBy(parsed, folder);
    const progress = new ShownProgress(parsed.given('json'));
    if (parsed.given('for-report')) {
      if (place || key || parsed.given('oci'))
        throw usage('--for-report takes the local store, and writes text alone');
      return withStore(folder, (store) =>
        reportTo(file, { store, folder, wanted, progress, place, identity }),
      );
    }
    return withStore(folder, async (store) => {
      const collected = await collectFrom({ ...{ store, folder, wanted, progress, place, identity } });
      try {
        const about = { results: collected.results, labels: collected.labels, leftOut: collected.leftOut };
        if (collected.results === 0) {
          progress.report(about, nothingText(collected.leftOut), isPiped ? 2 : 1);
          return NOTHING_FOUND;
        }
        const output = outputTo(file, parsed.given('oci'));
        const written = await writeTo(output, store, collected, key, progress);
        const figures = { blobs: collected.blobs.length, bytes: written.bytes, bundle: written.head.bundle };
        const report = { file, ...about, ...figures, isSigned: key !== undefined };
        progress.report(report, writtenText(file, collected, written), isPiped ? 2 : 1);
        return 0;
      } finally {
        collected.spool.close();
      }
    });
  },
};

async function wantedBy(parsed: ParsedFlags, folder: string): Promise<WantedResult> {
  const names = parsed.all('steps').flatMap((text) => text.split(',').filter(Boolean));
  const named = await Promise.all(parsed.all('key').map((key) => resolveKey(key, folder)));
  const ofSteps = names.length > 0 ? await keysOfSteps(names, folder) : [];
  if (names.length > 0 && ofSteps.length === 0)
    throw new AssayError('ASSAY_NO_HISTORY', `none of the steps ${names.join(', ')} ran here`);
  const since = parsed.text('since');
  return {
    keys: [...named, ...ofSteps],
    labels: parsed.all('label'),
    ...(since !== undefined && { since: timeOf(since) }),
  };
}

/** A length of time counts back from now. A time without a zone is UTC. */
function timeOf(text: string): number {
  if (/^[\d.]+[a-z]$/.test(text)) return Date.now() - parseDuration('--since', text);
  const isTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const time = isTime ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw usage(
    `--since takes a time such as 2h, 3d, 2026-11-17 or 2026-11-17T09:30:00Z, not ${JSON.stringify(text)}`,
  );
}

interface From {
  readonly store: Store;
  readonly folder: string;
  readonly wanted: WantedResult;
  readonly progress: ShownProgress;
  /** Undefined: the store itself. */
  readonly place: RemotePlace | undefined;
  readonly identity: Namespace;
}

async function collectFrom({ store, folder, wanted, progress, place, identity }: From): Promise<Collected> {
  const { review, results, blobs } = store;
  if (!review) throw new AssayError('ASSAY_INTERNAL', 'a store on disk can be reviewed');
  const made = madeHere();
  const onResult = (done: number) =>
    progress.show({ doing: 'results', done }, () => `export: ${counted(done, 'result')} found`);
  if (place) {
    const { RemoteKinds } = await import('./remote-destination.ts');
    const { serverRecords } = await import('./remote-records.ts');
    const kinds = new RemoteKinds(place);
    const records = await serverRecords(place, wanted, kinds, store);
    try {
      return await collectBundle({ ...{ records, blobs, made, onResult }, isPrivate: () => false });
    } finally {
      records.close();
      await kinds.close();
    }
  }
  const within = { identity, requested: DEFAULT_NAMESPACE };
  const ownResults = {
    get: ({ namespace, key }: Parameters<typeof results.get>[0]) =>
      results.get({ namespace: namespaceBelow(identity, namespace), key }),
  };
  const records = storeSource({ review, results: ownResults, wanted, within });
  /* What lies at a server was judged by the clients that sent it. */
  const isPrivate = identity === '' ? privateSets(folder, currentFolder()) : () => false;
  return collectBundle({ records, blobs, made, onResult, isPrivate });
}

/** Returns the exit code. */
async function reportTo(file: string, { store, wanted, identity, progress }: From): Promise<number> {
  const { review } = store;
  if (!review) throw new AssayError('ASSAY_INTERNAL', 'a store on disk can be reviewed');
  const within = { identity, requested: DEFAULT_NAMESPACE };
  const records = storeSource({ review, results: store.results, wanted, within });
  const output = outputTo(file, false);
  let lines = 0;
  try {
    for await (const line of reportLines(records, store, madeHere())) {
      await output.write(Buffer.from(line));
      lines++;
    }
    await output.finish();
  } catch (error) {
    output.abort();
    throw error;
  }
  progress.report(
    { file, lines },
    `assay export: ${file} has ${counted(lines - 1, 'entry', 'entries')} for a bug report. Read it before you send it: nothing recognizes every secret.`,
    file === STANDARD ? 2 : 1,
  );
  return 0;
}

function madeHere(): Maker {
  return { at: new Date().toISOString(), assay: VERSION, where: placeOf(process.env) ?? '' };
}

function outputTo(file: string, isLayout: boolean): BundleOutput {
  if (file === STANDARD) return standardOutput();
  return isLayout ? ociOutput(file) : fileOutput(file);
}

async function writeTo(
  output: BundleOutput,
  { blobs }: Store,
  collected: Collected,
  key: Parameters<typeof exportBundle>[0]['key'],
  progress: ShownProgress,
) {
  try {
    const onContent = (done: number, of: number) =>
      progress.show(
        { doing: 'content', bytes: done, ofBytes: of },
        () => `export: ${bytes(done)} of ${bytes(of)}`,
      );
    const written = await exportBundle({ collected, blobs, sink: output, key, onContent });
    await output.finish();
    return written;
  } catch (error) {
    output.abort();
    throw error;
  }
}

function writtenText(
  file: string,
  { results, labels, blobs, leftOut }: Collected,
  written: Awaited<ReturnType<typeof writeTo>>,
): string {
  const named = labels === 0 ? '' : `, ${counted(labels, 'label')}`;
  return [
    `assay export: ${counted(results, 'result')}${named}, ${counted(blobs.length, 'blob')}, ${bytes(written.bytes)} in ${file === STANDARD ? 'standard output' : file}`,
    `bundle ${written.head.bundle}${written.head.signature === undefined ? '' : ', signed'}`,
    ...leftOutLines(leftOut),
  ].join('\n');
}

function nothingText(leftOut: LeftOut): string {
  return ['assay export: no result was found, and no file was written', ...leftOutLines(leftOut)].join('\n');
}

function leftOutLines({ incomplete, local, unfit }: LeftOut): string[] {
  return [
    ...(local === 0
      ? []
      : [`left out: ${counted(local, 'result')} that would not be sent to a server either`]),
    ...(incomplete === 0
      ? []
      : [`left out: ${counted(incomplete, 'result')} of which the store lost a part`]),
    ...(unfit === 0
      ? []
      : [`left out: ${counted(unfit, 'result')} whose outputs no client would take from a server`]),
  ];
}
