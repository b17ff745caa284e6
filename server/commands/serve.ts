// `assay serve`: shares a store over HTTP and gRPC until a signal stops it.
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
    text: 'the folder of the store (default $XDG_CACHE_HOME/assay/server)',
  },
  'read-only': { type: 'boolean', text: 'refuse all writes' },
  'tls-cert': {
    type: 'string',
    value: 'FILE',
    text: 'use TLS with this certificate (PEM); a renewed file\nis reloaded within a minute, without a restart',
  },
  'tls-key': { type: 'string', value: 'FILE', text: 'the key of --tls-cert (PEM)' },
  'tls-client-ca': {
    type: 'string',
    value: 'FILE',
    text: 'accept only clients with a certificate that one of these signed (PEM)',
  },
  'max-blob': {
    type: 'string',
    value: 'BYTES',
    text: `the largest blob to accept (default ${SERVER.maxBlobBytes})`,
  },
  'max-size': {
    type: 'string',
    value: 'SIZE',
    text: `the size limit of the store: 50GB, 8GiB, or a share of the disk (default ${100 * STORE.serverShare}%);\nthe least recently used entries are evicted first`,
  },
  lease: {
    type: 'string',
    value: 'TIME',
    text: 'how long a blob or result stays after a response named it, even if the store is full (default 3h)',
  },
  'verify-rate': {
    type: 'string',
    value: 'MIB',
    text: 'verify the whole store once a day in the background, at this many MiB per second (default: never)',
  },
  'log-level': {
    type: 'string',
    value: 'LEVEL',
    text: `${LOG_LEVELS.join(', ')} (default info, or warn on a terminal)`,
  },
} as const;

export const serveCommand: CommandModule = {
  help: {
    usage: 'assay serve [FLAGS]',
    text: [
      'Shares a store on one port. `assay run --remote` and Bazel’s --remote_cache use it over HTTP or gRPC.',
      'ccache, sccache, Gradle, Turborepo, Nx, Rush and GitHub Actions each have a base path for their own protocol.',
      'GET / lists the base paths; docs/PROTOCOLS.md has a configuration snippet for each tool.',
      `On SIGTERM, SIGINT or SIGHUP it accepts no new requests, waits up to ${SERVER.drainMs / 1000} s for requests in flight, and cuts the rest.`,
      'A second signal ends it at once. Allow 20 s before you kill it (docker stop --time 20; systemd waits for 90 s by default).',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_STORE: 'the same as --store',
      ASSAY_S3_ACCESS_KEY: 'the access key with which S3 clients must sign',
      ASSAY_S3_SECRET_KEY: 'its secret key; without both, S3 clients need only the token',
      ASSAY_TOKEN:
        'the token that clients must present; required for a host other than loopback, unless --read-only or --tls-client-ca',
    },
    exitCodes: { '0': 'stopped by a signal', '2': 'could not start; the error says why' },
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
    const stopBackground = new AbortController();
    const backgroundTasks: (Promise<void> | undefined)[] = [];
    try {
      metrics.watch(store.space);
      const server = await startServer({ ...settings, tls: settings.tls?.shown, store, log, metrics });
      const signal = firstStopSignal();
      process.stdout.write(startMessage(server, settings));
      log.info({ url: server.url, store: settings.storeFolder }, 'listening');
      backgroundTasks.push(startScrubbing(settings, store, log, stopBackground.signal));
      backgroundTasks.push(keepReconciling(store, log, stopBackground.signal));
      backgroundTasks.push(keepSweeping(store, log, stopBackground.signal));
      backgroundTasks.push(startTlsReload(settings, server, log, stopBackground.signal));
      log.info({ signal: await signal }, 'stopping');
      await server.stop();
    } finally {
      stopBackground.abort();
      await Promise.all(backgroundTasks);
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
  if (given.positionals.length > 0)
    throw usage(`serve takes no argument ${JSON.stringify(given.positionals[0])}`);
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

/** No client can present a token with white space, so such a value is a mistake. */
function tokenOf(text = ''): string | undefined {
  if (/\s/.test(text))
    throw usage('ASSAY_TOKEN contains a space or a line break, so no client can present it');
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
    throw usage('set both ASSAY_S3_ACCESS_KEY and ASSAY_S3_SECRET_KEY, or neither');
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

/** A terminal shows the start message already, so the default there is `warn`. */
function logLevelOf(text: string | undefined): LogLevel {
  if (text === undefined) return process.stderr.isTTY ? 'warn' : 'info';
  const level = LOG_LEVELS.find((known) => known === text);
  if (!level) throw usage(`--log-level takes ${LOG_LEVELS.join(', ')}, not ${JSON.stringify(text)}`);
  return level;
}

function startMessage({ url }: RunningServer, { host, storeFolder, token, readOnly }: Settings): string {
  const reachable = isLoopback(host) ? url : url.replace(/\/\/.*:/, `//${hostname()}:`);
  const tokenPrefix = token === undefined ? '' : 'ASSAY_TOKEN=… ';
  return [
    `Assay listens on ${url}${readOnly ? ' (read-only)' : ''}`,
    `The store is in ${storeFolder}`,
    `Try: ${tokenPrefix}ASSAY_REMOTE=${reachable} ${commandName()} run --output hello.txt -- sh -c 'echo hello > hello.txt'`,
    '',
  ].join('\n');
}

/** The command that runs Assay: in a checkout, `assay` is not on the PATH. */
function commandName(): string {
  return process.argv[1]?.endsWith('/bin/assay.ts') ? 'npx assay' : 'assay';
}
