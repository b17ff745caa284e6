// `assay verify`: verifies a whole store, reports damage, and repairs it from a remote.
import {
  type CommandModule,
  type FlagTable,
  parseFlags,
  parseNumber,
  usage,
} from '../../core/cli/command.ts';
import { STORE } from '../../store/limits.ts';
import { type ScrubProgress, shareDone } from '../../store/scrub/scrub.ts';
import { storeFolder } from '../local-store/store-folder.ts';
import { type VerifiedStore, type VerifyRequest, verify } from '../maintenance/verify/verify.ts';
import { remoteToken } from '../remote/token.ts';
import { parseRemoteUrl } from '../remote/url.ts';
import { SyncStream } from '../terminal/sync-stream.ts';
import { bytesText, counted } from '../view/words.ts';

const MIB = 1024 * 1024;
const DAMAGED = 3;
const RESTORES = 10;

const flags = {
  store: {
    type: 'string',
    value: 'DIR',
    text: 'the store (default: ASSAY_STORE, or the user’s cache folder); it may belong to a running server',
  },
  rate: {
    type: 'string',
    value: 'MIB',
    text: 'read at most this many MiB per second (default: no limit)',
  },
  restore: {
    type: 'string',
    value: 'N',
    text: `restore N sampled results into an empty folder and compare them (default ${RESTORES})`,
  },
  remote: {
    type: 'string',
    value: 'URL',
    text: 'where damaged blobs are fetched from (default: ASSAY_REMOTE)',
  },
  anew: { type: 'boolean', text: 'start from the beginning, even if an earlier verify was interrupted' },
  json: {
    type: 'boolean',
    text: 'print one JSON object on standard output, and progress as one JSON object per line on standard error',
  },
} satisfies FlagTable;

export const verifyCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay verify [FLAGS]',
    text: [
      'Reads every blob of a store and compares it with its SHA-256, checks that every result has all its',
      'blobs, and restores some results into an empty folder. A damaged blob is quarantined and is then a miss.',
      'If there is a remote, the blob is fetched from there; else the next upload of the same content replaces it.',
      '',
      'You can interrupt it at any time: the next `assay verify` continues where it stopped. Servers and runs',
      'can use the store meanwhile. A server can verify in the background: `assay serve --verify-rate MIB`.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the local store’s folder',
      ASSAY_REMOTE: 'the same as --remote',
      ASSAY_TOKEN: 'sent to the remote as a Bearer token',
    },
    exitCodes: {
      '0': 'no damage (a result with a missing blob is a miss, not damage)',
      '3': 'damage was found; the store no longer serves it',
      '2': 'the store could not be verified; the message says why',
    },
    examples: [
      'assay verify',
      'assay verify --store /var/lib/assay --rate 50',
      'assay verify --json --restore 100',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length > 0) throw usage('assay verify takes no arguments');
    const rate = parsed.text('rate');
    const remote = parsed.text('remote') ?? process.env.ASSAY_REMOTE;
    const request: VerifyRequest = {
      storeFolder: storeFolder(parsed.text('store'), process.env),
      bytesPerSecond: rate === undefined ? undefined : MIB * parseNumber('--rate', rate, 1, 1_000_000),
      restores: parseNumber('--restore', parsed.text('restore') ?? String(RESTORES), 0, 1_000_000),
      isAnew: parsed.given('anew'),
      openRemote: remote ? remoteOpener(remote) : undefined,
    };
    const json = parsed.given('json');
    const progress = new Progress(new SyncStream(2), json);
    const found = await verify(request, (scrubbed) => progress.show(scrubbed));
    progress.end();
    new SyncStream(1).write(json ? `${JSON.stringify(found)}\n` : report(found, request.storeFolder));
    return isAllWell(found) ? 0 : DAMAGED;
  },
};

function remoteOpener(text: string): VerifyRequest['openRemote'] {
  const url = parseRemoteUrl(text);
  return async () => {
    const { openRemote } = await import('../remote/open.ts');
    return openRemote({ url, token: remoteToken(), now: Date.now });
  };
}

/** A result with a missing blob is a miss, not damage. */
function isAllWell({ damaged, restore }: VerifiedStore): boolean {
  return damaged === 0 && restore.failures.length === 0;
}

/** On a terminal one changing line; with --json a line from time to time; else nothing. */
class Progress {
  readonly #screen: SyncStream;
  readonly #json: boolean;
  readonly #isShown: boolean;
  #shownAt = 0;

  constructor(screen: SyncStream, json: boolean) {
    this.#screen = screen;
    this.#json = json;
    this.#isShown = json || screen.isTTY;
  }

  show(scrubbed: ScrubProgress): void {
    const now = performance.now();
    if (!this.#isShown || now - this.#shownAt < STORE.journalMs) return;
    this.#shownAt = now;
    const { blobs, bytes, damaged } = scrubbed;
    const share = shareDone(scrubbed);
    if (this.#json) this.#screen.write(`${JSON.stringify({ share, blobs, bytes, damaged })}\n`);
    else
      this.#screen.write(
        `\r\x1b[Kassay: verify ${Math.floor(share * 100)} %: ${counted(blobs, 'blob')}, ${bytesText(bytes)}`,
      );
  }

  end(): void {
    if (this.#isShown && !this.#json) this.#screen.write('\r\x1b[K');
  }
}

function report(found: VerifiedStore, folder: string): string {
  const { blobs, bytes, damaged, damage, healed, results, unusableResults, restore, resumedAt } = found;
  const since =
    resumedAt === undefined ? '' : `, since ${new Date(resumedAt).toISOString()} with interruptions`;
  const lines = [
    `${folder}: ${counted(blobs, 'blob')}, ${bytesText(bytes)} and ${counted(results, 'result')} verified${since}`,
    damaged === 0
      ? 'Every blob matches its SHA-256.'
      : `${damaged} damaged and quarantined; ${healed} fetched again from the remote`,
    ...damage.map(({ hash, size }) => `  ${hash} ${bytesText(size)}`),
    unusableResults === 0
      ? 'Every result has all its blobs.'
      : `${counted(unusableResults, 'result')} ${unusableResults === 1 ? 'lacks a blob' : 'lack blobs'}: a miss until the next run stores it again`,
    `${counted(restore.restored, 'sampled result')} restored and compared: ${counted(restore.files, 'path')}`,
    ...(restore.skipped === 0
      ? []
      : [
          `${counted(restore.skipped, 'sampled result')} of other tools not restored: their paths do not fit a workspace`,
        ]),
    ...restore.failures.map((failure) => `  not restored: ${failure}`),
  ];
  return `${lines.join('\n')}\n`;
}
