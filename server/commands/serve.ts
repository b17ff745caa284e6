// `assay serve`: shares a store over HTTP and gRPC until a signal stops it.
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { type CommandModule, parseFlags } from '../../core/cli/command.ts';
import { nodeCrypto } from '../../core/sha256.ts';
import { openWriteLog, type WriteLog } from '../../store/log/write-log.ts';
import { loadChecksum } from '../../store/shared/checksum.ts';
import { isLoopback } from '../../store/shared/loopback.ts';
import type { Store } from '../../store/store.ts';
import { type AuthKey, openAuthKey } from '../access/auth-key.ts';
import { keepCounting } from '../background/count.ts';
import { keepReconciling } from '../background/reconcile.ts';
import { keepRetention } from '../background/retention.ts';
import { keepScrubbing } from '../background/scrub.ts';
import { keepSweeping } from '../background/sweep.ts';
import { countExternalMemoryWithHeap } from '../capacity/v8-heap.ts';
import { AccessSources, hasIdentities } from '../config/access.ts';
import { SERVE_FLAGS } from '../config/flags.ts';
import type { ConfigurableIssuers, IssuersPort } from '../config/issuers-port.ts';
import { reloader } from '../config/reload.ts';
import { readSettings, type Settings } from '../config/settings.ts';
import { loadTlsIdentity, type TlsIdentity } from '../connection/tls.ts';
import { keepReloadingTls } from '../connection/tls-reload.ts';
import { SERVER } from '../limits.ts';
import { type RunningServer, startServer } from '../listen.ts';
import { openLog, reportStoreEvents } from '../log.ts';
import { Metrics } from '../request/metrics.ts';
import type { ServerPort } from '../server-port.ts';
import { becomeNode } from './become-node.ts';
import type { EnginePort, OpenedStore } from './engine-port.ts';
import { openServerStore } from './open-store.ts';
import { firstStopSignal } from './signals.ts';

type Wings = () => Promise<readonly Partial<EnginePort & IssuersPort & ServerPort>[]>;

/** What the wings add to every server is always loaded, the rest only if a setting needs it. */
export const serveCommand = (wings: Wings): CommandModule => ({
  help: {
    usage: 'assay serve [FLAGS]',
    text: [
      'Shares a store on one port. `assay run --remote` and Bazel’s --remote_cache use it over HTTP or gRPC.',
      'ccache, sccache, Gradle, Turborepo, Nx, Rush and GitHub Actions each have a base path for their own protocol.',
      'GET / lists the base paths; `assay help protocols` has a configuration snippet for each tool.',
      `On SIGTERM or SIGINT it accepts no new requests, waits up to ${SERVER.drainMs / 1000} s for requests in flight, and cuts the rest.`,
      `In a fleet, /readyz is red for ${SERVER.noticeMs / 1000} s before that, while it goes on working.`,
      'A second signal ends it at once. Allow 25 s before you kill it (docker stop --time 25; systemd waits for 90 s by default).',
      'With --config or --tokens, SIGHUP reads these files again; a file that is not valid is refused whole and the old one stays. Without them, SIGHUP stops the server.',
      'Tokens of --tokens are bound to a namespace and to rights (`assay token --help`). ASSAY_TOKEN beside them has all rights.',
    ].join('\n'),
    flags: SERVE_FLAGS,
    environment: {
      ASSAY_STORE: 'the same as --store',
      ASSAY_INDEX: 'the same as --index',
      ASSAY_BLOBS: 'the same as --blobs',
      AWS_ACCESS_KEY_ID:
        'the access key of the bucket; `assay help fleet` has the other sources of credentials: a web identity, a file, a container, an instance',
      AWS_SECRET_ACCESS_KEY: 'its secret key',
      AWS_SESSION_TOKEN: 'the session token of temporary keys',
      AWS_ENDPOINT_URL: 'the address of the object store, if it is not AWS',
      AWS_S3_ADDRESSING_STYLE:
        'virtual: the bucket is in the host, the default at AWS; path: in the path, the default elsewhere',
      AWS_REGION: 'the region of the bucket (default us-east-1)',
      ASSAY_TOKENS: 'the same as --tokens',
      ASSAY_S3_ACCESS_KEY: 'the access key with which S3 clients must sign',
      ASSAY_S3_SECRET_KEY: 'its secret key; without both, S3 clients need only the token',
      ASSAY_TOKEN:
        'a token with all rights; it, or --tokens, is required for a host other than loopback, unless --read-only or --tls-client-ca',
    },
    exitCodes: { '0': 'stopped by a signal', '2': 'could not start; the error says why' },
    examples: [
      'assay serve',
      'ASSAY_TOKEN=… assay serve --host 0.0.0.0 --store /var/lib/assay --max-size 200GB',
      'assay serve --host 0.0.0.0 --tokens /etc/assay/tokens.json',
      'assay serve --config /etc/assay/server.json',
      'assay serve --index postgres://… --blobs s3://bucket/prefix --tier /var/cache/assay --tier-size 200GB',
      'bazel build --remote_cache=http://127.0.0.1:8980/my-project //…',
    ],
  },
  failureCode: 2,
  async main(args) {
    becomeNode(['serve', ...args]);
    const flags = parseFlags(args, SERVE_FLAGS);
    const issuers = flags.given('config') ? await openIssuers(wings) : undefined;
    const settings = readSettings(flags, process.env, issuers);
    const tls = settings.tls && loadTlsIdentity(settings.tls);
    countExternalMemoryWithHeap();
    const log = openLog(settings.logLevel);
    const metrics = new Metrics();
    // A blob that is stored before has no xxh64, and each read of it costs a SHA-256.
    await loadChecksum();
    // Not at the first use: an upgrade of the package removes its files while the server runs.
    nodeCrypto();
    const parts = await Promise.all((await wings()).flatMap(({ server }) => server?.() ?? []));
    const opened = await openServerStore(settings, reportStoreEvents(log, metrics), metrics, wings);
    const { store, disk, folder } = opened;
    const writeLog = folder === undefined ? undefined : startWriteLog(folder, log);
    const stopBackground = new AbortController();
    const backgroundTasks: (Promise<void> | undefined)[] = [];
    try {
      if (disk) metrics.watch(disk.space);
      metrics.watchAccounts(opened.accounts);
      issuers?.keepUsedTokens(store.history, settings.readOnly);
      const access = hasIdentities(settings)
        ? new AccessSources(settings, authKey(settings, opened), log, issuers)
        : undefined;
      const { maxBlobBytes } = settings;
      const server = await startServer({
        ...settings,
        tls,
        limits: { maxBlobBytes },
        identities: access,
        tokenExchange: access,
        storeFolder: folder,
        sessionSecret: sessionSecret(settings, opened),
        store,
        space: disk?.space,
        indexLimit: opened.indexLimit,
        accounts: opened.accounts,
        writeLog,
        log,
        metrics,
        wings: parts,
      });
      const read = () => readSettings(flags, process.env, issuers);
      const reload = reloader({ settings, configFile: flags.text('config'), read, access, log });
      const signal = firstStopSignal(flags.given('config') || access ? reload : undefined);
      process.stdout.write(startMessage(server, settings, opened.place));
      log.info({ url: server.url, store: opened.place }, 'listening');
      backgroundTasks.push(startScrubbing(settings, store, log, stopBackground.signal));
      if (disk) {
        backgroundTasks.push(keepReconciling(disk, log, stopBackground.signal));
        backgroundTasks.push(keepSweeping(disk, log, stopBackground.signal));
        backgroundTasks.push(keepCounting(disk, log, stopBackground.signal));
      }
      backgroundTasks.push(startRetention(settings, opened, log, stopBackground.signal));
      backgroundTasks.push(startTlsReload(settings, tls, server, log, stopBackground.signal));
      backgroundTasks.push(access?.keepFollowing(stopBackground.signal));
      log.info({ signal: await signal }, 'stopping');
      await server.stop();
    } finally {
      stopBackground.abort();
      await Promise.all(backgroundTasks);
      await writeLog?.close();
      await store.close();
    }
    log.info('stopped');
    return 0;
  },
});

/** Issuers are named only in the configuration file. */
async function openIssuers(wings: Wings): Promise<ConfigurableIssuers | undefined> {
  const port = (await wings()).find(({ openIssuers }) => openIssuers !== undefined);
  return port?.openIssuers?.();
}

function authKey({ storeFolder }: Settings, { secret }: OpenedStore): AuthKey {
  if (secret) return secret;
  const key = openAuthKey(storeFolder);
  return () => key;
}

/** Undefined where it can't be kept: then a restart ends the logins of browsers. */
function sessionSecret(settings: Settings, opened: OpenedStore): AuthKey | undefined {
  if (settings.token === undefined && !hasIdentities(settings)) return undefined;
  try {
    return authKey(settings, opened);
  } catch {
    return undefined;
  }
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

function startWriteLog(folder: string, log: Logger): WriteLog {
  return openWriteLog(folder, {
    onTrouble: (why, lost) => log.warn({ why, lost }, 'the write log can not be written'),
  });
}

function startRetention(
  { readOnly }: Settings,
  { store: { history }, indexLimit: limit }: OpenedStore,
  log: Logger,
  signal: AbortSignal,
): Promise<void> | undefined {
  if (readOnly || !history) return undefined;
  return keepRetention({ history, limit }, log, signal);
}

function startTlsReload(
  { tls: files }: Settings,
  shown: TlsIdentity | undefined,
  { setTlsIdentity }: RunningServer,
  log: Logger,
  signal: AbortSignal,
): Promise<void> | undefined {
  if (!files || !shown) return undefined;
  return keepReloadingTls({ files, shown, setTlsIdentity, log, pauseMs: SERVER.tlsReloadMs }, signal);
}

function startMessage({ url }: RunningServer, settings: Settings, place: string): string {
  const { host, token, readOnly } = settings;
  const reachable = isLoopback(host) ? url : url.replace(/\/\/.*:/, `//${hostname()}:`);
  const needsToken = token !== undefined || hasIdentities(settings);
  const tokenPrefix = needsToken ? 'ASSAY_TOKEN=… ' : '';
  return [
    `Assay listens on ${url}${readOnly ? ' (read-only)' : ''}`,
    `The store is ${place}`,
    `Try: ${tokenPrefix}ASSAY_REMOTE=${reachable} ${commandName()} run --output hello.txt -- sh -c 'echo hello > hello.txt'`,
    '',
  ].join('\n');
}

/** The command that runs Assay: in a checkout, `assay` is not on the PATH. */
function commandName(): string {
  return process.argv[1]?.endsWith('/bin/assay.ts') ? 'npx assay' : 'assay';
}
