// `assay serve`: a store on this machine, shared over HTTP until a signal says stop.
import { homedir, hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import {
  type CommandModule,
  type ParsedFlags,
  parseDuration,
  parseFlags,
  parseNumber,
  usage,
} from '../../core/cli/command.ts';
import { STORE } from '../../store/limits.ts';
import { openDiskStore } from '../../store/open.ts';
import { parseSizeLimit, type SizeLimit } from '../../store/size-limit.ts';
import type { Store } from '../../store/store.ts';
import { keepReconciling } from '../background/reconcile.ts';
import { keepScrubbing } from '../background/scrub.ts';
import { keepSweeping } from '../background/sweep.ts';
import { countExternalMemoryWithHeap } from '../capacity/v8-heap.ts';
import { loadTlsIdentity } from '../connection/tls.ts';
import { keepReloadingTls, type TlsReload } from '../connection/tls-reload.ts';
import { isLoopback } from '../http/host.ts';
import { SERVER } from '../limits.ts';
import { type RunningServer, startServer } from '../listen.ts';
import { LOG_LEVELS, type LogLevel, openLog, reportStoreEvents } from '../log.ts';
import { Metrics } from '../pages/metrics.ts';
import type { S3Keys } from '../protocols/s3/signature.ts';
import { becomeNode } from './become-node.ts';
import { firstStopSignal } from './signals.ts';

const MIB = 1024 * 1024;

const flags = {
  host: { type: 'string', value: 'HOST', text: 'the address to listen on (default 127.0.0.1)' },
  port: { type: 'string', value: 'PORT', text: 'the port, 0 for a free one (default 8980)' },
  store: {
    type: 'string',
    value: 'DIR',
    text: 'the folder that holds the store (default $XDG_CACHE_HOME/assay/server)',
  },
  'read-only': { type: 'boolean', text: 'take no writes' },
  'tls-cert': {
    type: 'string',
    value: 'FILE',
    text: 'speak TLS, with this certificate (PEM); looked at\nonce a minute, so that a renewed one is shown without a restart',
  },
  'tls-key': { type: 'string', value: 'FILE', text: 'the key of --tls-cert (PEM)' },
  'tls-client-ca': {
    type: 'string',
    value: 'FILE',
    text: 'admit only clients with a certificate signed by one of these (PEM)',
  },
  'max-blob': {
    type: 'string',
    value: 'BYTES',
    text: `the largest blob taken (default ${SERVER.maxBlobBytes})`,
  },
  'max-size': {
    type: 'string',
    value: 'SIZE',
    text: `the most that the store holds: 50GB, 8GiB, or a share of the disk (default ${100 * STORE.serverShare}%);\nthe least recently used goes first`,
  },
  lease: {
    type: 'string',
    value: 'TIME',
    text: 'how long what was named in an answer stays, also when the store is full (default 3h)',
  },
  'verify-rate': {
    type: 'string',
    value: 'MIB',
    text: 'look through the whole store once a day, in the background, reading so many MiB a second (default: never)',
  },
  'log-level': {
    type: 'string',
    value: 'LEVEL',
    text: `${LOG_LEVELS.join(', ')} (default info, on a terminal warn)`,
  },
} as const;

export const serveCommand: CommandModule = {
  help: {
    usage: 'assay serve [FLAGS]',
    text: [
      'Shares a store on one port: over HTTP and gRPC, as `assay run --remote` and Bazel’s --remote_cache speak them, and under',
      'base paths of their own as ccache, sccache, Gradle, Turborepo, Nx, Rush and GitHub Actions do',
      '(GET / lists them; docs/PROTOCOLS.md has a snippet for each).',
      `Stops on SIGTERM, SIGINT or SIGHUP: takes nothing new, waits up to ${SERVER.drainMs / 1000} s for what is under way, and cuts the rest.`,
      'A second signal ends it at once. Give it 20 s before you kill it (docker stop --time 20; systemd waits for 90 s by itself).',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the same as --store',
      ASSAY_S3_ACCESS_KEY: 'S3 clients must sign with this key …',
      ASSAY_S3_SECRET_KEY: '… and this secret; without both, the token alone guards S3',
      ASSAY_TOKEN: 'clients must present this; needed to listen beyond this machine, except with --read-only',
    },
    exitCodes: { '0': 'stopped by a signal', '2': 'could not start; the text says why' },
    examples: [
      'assay serve',
      'ASSAY_TOKEN=… assay serve --host 0.0.0.0 --store /var/lib/assay --max-size 200GB',
      'bazel build --remote_cache=http://127.0.0.1:8980/my-project //…',
    ],
  },
  failureCode: 2,
  async main(args) {
    becomeNode(['serve', ...args]);
    const settings = readSettings(parseFlags(args, flags));
    countExternalMemoryWithHeap();
    const log = openLog(settings.logLevel);
    const metrics = new Metrics();
    const store = await openDiskStore({
      directory: settings.storeFolder,
      onEvent: reportStoreEvents(log, metrics),
      commitDelayMs: STORE.serverCommitDelayMs,
      maxSize: settings.maxSize,
      leaseMs: settings.leaseMs,
    });
    const stopChores = new AbortController();
    const chores: (Promise<void> | undefined)[] = [];
    try {
      metrics.watch(store.space);
      const server = await startServer({ ...settings, tls: settings.tls?.shown, store, log, metrics });
      const signal = firstStopSignal();
      process.stdout.write(welcome(server, settings));
      log.info({ url: server.url, store: settings.storeFolder }, 'listening');
      chores.push(startScrubbing(settings, store, log, stopChores.signal));
      chores.push(keepReconciling(store, log, stopChores.signal));
      chores.push(keepSweeping(store, log, stopChores.signal));
      chores.push(startTlsReload(settings, server, log, stopChores.signal));
      log.info({ signal: await signal }, 'stopping');
      await server.stop();
    } finally {
      stopChores.abort();
      await Promise.all(chores);
      await store.close();
    }
    log.info('stopped');
    return 0;
  },
};

interface Settings {
  readonly host: string;
  readonly port: number;
  readonly storeFolder: string;
  readonly token: string | undefined;
  readonly s3Keys: S3Keys | undefined;
  readonly readOnly: boolean;
  readonly tls: Pick<TlsReload, 'files' | 'shown'> | undefined;
  readonly limits: { readonly maxBlobBytes: number };
  readonly logLevel: LogLevel;
  readonly scrubBytesPerSecond: number | undefined;
  readonly maxSize: SizeLimit;
  readonly leaseMs: number;
}

function readSettings(given: ParsedFlags): Settings {
  if (given.positionals.length > 0) throw usage(`serve takes no ${JSON.stringify(given.positionals[0])}`);
  const maxBlob = given.text('max-blob');
  return {
    host: given.text('host') ?? '127.0.0.1',
    port: parseNumber('--port', given.text('port') ?? '8980', 0, 65_535),
    storeFolder: resolve(given.text('store') ?? (process.env.ASSAY_STORE || defaultFolder())),
    token: tokenOf(process.env.ASSAY_TOKEN),
    s3Keys: s3KeysOf(process.env.ASSAY_S3_ACCESS_KEY, process.env.ASSAY_S3_SECRET_KEY),
    readOnly: given.given('read-only'),
    tls: tlsOf(given),
    limits: {
      maxBlobBytes:
        maxBlob === undefined
          ? SERVER.maxBlobBytes
          : parseNumber('--max-blob', maxBlob, 1, Number.MAX_SAFE_INTEGER),
    },
    logLevel: logLevelOf(given.text('log-level')),
    scrubBytesPerSecond: scrubRateOf(given.text('verify-rate')),
    maxSize: parseSizeLimit('--max-size', given.text('max-size') ?? `${100 * STORE.serverShare}%`),
    leaseMs: parseDuration('--lease', given.text('lease') ?? `${STORE.leaseMs / 1000}s`),
  };
}

/** One with a blank in it could be presented by nobody, and is more likely a mistake than a secret. */
function tokenOf(text = ''): string | undefined {
  if (/\s/.test(text)) throw usage('ASSAY_TOKEN holds a space or a line break: no client could present it');
  return text || undefined;
}

function scrubRateOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : MIB * parseNumber('--verify-rate', text, 1, 1_000_000);
}

function startScrubbing(
  { scrubBytesPerSecond: bytesPerSecond, storeFolder }: Settings,
  store: Store,
  log: Logger,
  signal: AbortSignal,
): Promise<void> | undefined {
  if (bytesPerSecond === undefined) return undefined;
  return keepScrubbing({ store, storeFolder, bytesPerSecond, log }, signal);
}

function startTlsReload(
  { tls }: Settings,
  { setTlsIdentity }: RunningServer,
  log: Logger,
  signal: AbortSignal,
): Promise<void> | undefined {
  return tls && keepReloadingTls({ ...tls, setTlsIdentity, log, pauseMs: SERVER.tlsReloadMs }, signal);
}

function s3KeysOf(accessKey = '', secretKey = ''): S3Keys | undefined {
  if (accessKey === '' && secretKey === '') return undefined;
  if (accessKey === '' || secretKey === '')
    throw usage('ASSAY_S3_ACCESS_KEY and ASSAY_S3_SECRET_KEY go together');
  return { accessKey, secretKey };
}

function tlsOf(given: ParsedFlags): Settings['tls'] {
  const [cert, key, clientCa] = [given.text('tls-cert'), given.text('tls-key'), given.text('tls-client-ca')];
  if (cert !== undefined && key !== undefined) {
    const files = { cert, key, clientCa };
    return { files, shown: loadTlsIdentity(files) };
  }
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  throw usage('TLS needs both --tls-cert and --tls-key');
}

function defaultFolder(): string {
  const caches = process.env.XDG_CACHE_HOME;
  return join(caches && isAbsolute(caches) ? caches : join(homedir(), '.cache'), 'assay', 'server');
}

/** On a terminal the person has just read where the server listens. */
function logLevelOf(text: string | undefined): LogLevel {
  if (text === undefined) return process.stderr.isTTY ? 'warn' : 'info';
  const level = LOG_LEVELS.find((known) => known === text);
  if (!level) throw usage(`--log-level takes ${LOG_LEVELS.join(', ')}, not ${JSON.stringify(text)}`);
  return level;
}

function welcome({ url }: RunningServer, { host, storeFolder, token, readOnly }: Settings): string {
  const reachable = isLoopback(host) ? url : url.replace(/\/\/.*:/, `//${hostname()}:`);
  const secret = token === undefined ? '' : 'ASSAY_TOKEN=… ';
  return [
    `Assay listens on ${url}${readOnly ? ' (read-only)' : ''}`,
    `The store is in ${storeFolder}`,
    `Try: ${secret}ASSAY_REMOTE=${reachable} ${ownName()} run --output hello.txt -- sh -c 'echo hello > hello.txt'`,
    '',
  ].join('\n');
}

/** How the person who reads this can call Assay: in a checkout it is on nobody's PATH. */
function ownName(): string {
  return process.argv[1]?.endsWith('/bin/assay.ts') ? 'npx assay' : 'assay';
}
