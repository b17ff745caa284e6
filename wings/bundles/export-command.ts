// `assay export`: writes results of the local store or of a server, with all that they name, into one file.
import type { KeyObject } from 'node:crypto';
import { resolveKey } from '../../client/commands/resolve-step-arg.ts';
import { STORE_FLAGS } from '../../client/commands/store-flags.ts';
import { withStore } from '../../client/commands/with-store.ts';
import { storeFolder } from '../../client/local-store/store-folder.ts';
import { remoteToken } from '../../client/remote/token.ts';
import { parseRemoteUrl } from '../../client/remote/url.ts';
import { expectLongRun } from '../../core/bun.ts';
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseFlags,
  usage,
} from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import { parseNamespace } from '../../core/namespace.ts';
import { bytes, counted } from '../../core/text/amounts.ts';
import { refuseIfNoStore } from '../../store/disk/fs/layout.ts';
import { parseSelection, sinceText } from '../../store/review/selection.ts';
import { loadChecksum } from '../../store/shared/checksum.ts';
import { exportBundle } from './export/export.ts';
import { reportLines } from './export/report.ts';
import { keysOfSteps, type WantedResult } from './export/wanted.ts';
import { collectFrom, type From, madeHere, storeRecords } from './export-from.ts';
import { nothingText, writtenText } from './export-text.ts';
import { privateKey } from './format/signature.ts';
import type { Sink } from './format/writer.ts';
import { ociOutput } from './oci.ts';
import { fileOutput, refuseUnlessFile, standardOutput } from './output.ts';
import { ShownProgress } from './progress.ts';

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
    const isLayout = parsed.given('oci');
    if (file === STANDARD && isLayout)
      throw usage('an OCI layout is a folder: it can’t go to standard output');
    if (file === STANDARD && process.stdout.isTTY)
      throw usage('a bundle is no text: name a file, or send it through a pipe');
    if (!isLayout) refuseUnlessFile(file);
    const signing = parsed.text('sign');
    const key = signing === undefined ? undefined : privateKey(signing);
    const folder = storeFolder(parsed.text('store'), process.env);
    const remote = parsed.text('remote');
    const place = remote === undefined ? undefined : { url: parseRemoteUrl(remote), token: remoteToken() };
    if (place && parsed.given('namespace')) throw usage('the token decides the namespace at a server');
    const isReport = parsed.given('for-report');
    if (isReport && (place || key || isLayout || parsed.given('namespace')))
      throw usage('--for-report takes the local store, and writes text alone');
    if (!place) refuseIfNoStore(folder);
    const identity = parseNamespace(parsed.text('namespace') ?? '');
    await loadChecksum();
    expectLongRun();
    const wanted = await wantedBy(parsed, folder);
    const progress = new ShownProgress('export', parsed.given('json'), file === STANDARD ? 2 : 1);
    return withStore(folder, (store) => {
      const from = { store, folder, wanted, progress, place, identity };
      return isReport ? reportTo(file, from) : bundleTo(file, { isLayout, key }, from);
    });
  },
};

async function wantedBy(parsed: ParsedFlags, folder: string): Promise<WantedResult> {
  const names = parsed.all('steps').flatMap((text) => text.split(',').filter(Boolean));
  const named = await Promise.all(parsed.all('key').map((key) => resolveKey(key, folder)));
  const ofSteps = names.length > 0 ? await keysOfSteps(names, folder) : [];
  if (names.length > 0 && ofSteps.length === 0)
    throw new AssayError('ASSAY_NO_HISTORY', `none of the steps ${names.join(', ')} ran here`);
  const since = sinceText(parsed.text('since'), Date.now());
  return {
    keys: [...named, ...ofSteps],
    labels: parsed.all('label'),
    since: since === undefined ? undefined : parseSelection({ since }).since,
  };
}

interface Form {
  /** Write an OCI layout around the bundle. */
  readonly isLayout: boolean;
  readonly key: KeyObject | undefined;
}

/** Returns the exit code. */
async function bundleTo(file: string, { isLayout, key }: Form, from: From): Promise<number> {
  const { store, progress } = from;
  const collected = await collectFrom(from);
  const { results, labels, leftOut, blobs } = collected;
  try {
    const about = { results, labels, leftOut };
    if (results === 0) {
      progress.report(about, nothingText(leftOut));
      return NOTHING_FOUND;
    }
    const onContent = (done: number, of: number) =>
      progress.show({ doing: 'content', bytes: done, ofBytes: of }, () => `${bytes(done)} of ${bytes(of)}`);
    const written = await writeTo(file, isLayout, (sink) =>
      exportBundle({ collected, blobs: store.blobs, sink, key, onContent }),
    );
    const figures = { blobs: blobs.length, bytes: written.bytes, bundle: written.head.bundle };
    progress.report(
      { file, ...about, ...figures, isSigned: key !== undefined },
      writtenText(file === STANDARD ? 'standard output' : file, collected, written),
    );
    return 0;
  } finally {
    collected.spool.close();
  }
}

/** Returns the exit code. */
async function reportTo(file: string, from: From): Promise<number> {
  const entries = await writeTo(file, false, async (sink) => {
    let lines = 0;
    for await (const line of reportLines(storeRecords(from), from.store, madeHere())) {
      await sink.write(Buffer.from(line));
      lines++;
    }
    return lines - 1;
  });
  from.progress.report(
    { file, entries },
    `${file} has ${counted(entries, 'entry', 'entries')} for a bug report. Read it before you send it: nothing recognizes every secret.`,
  );
  return 0;
}

async function writeTo<T>(file: string, isLayout: boolean, work: (sink: Sink) => Promise<T>): Promise<T> {
  const output = file === STANDARD ? standardOutput() : isLayout ? ociOutput(file) : fileOutput(file);
  try {
    const done = await work(output);
    await output.finish();
    return done;
  } catch (error) {
    output.abort();
    throw error;
  }
}
