// Settings: everything that `assay serve` runs with, from flags, variables and the configuration file.
// Guarantee: a setting that is given twice is refused, with both places. So no file silently loses to a flag.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { type ParsedFlags, usage } from '../../core/cli/command.ts';
import { Problems } from '../../core/config/problems.ts';
import type { AccountSettings } from '../../store/accounts.ts';
import { STORE } from '../../store/limits.ts';
import type { SizeLimit } from '../../store/size-limit.ts';
import type { S3Keys } from '../access/aws-signature.ts';
import type { Identity } from '../access/identity.ts';
import type { TlsFiles } from '../connection/tls.ts';
import { SERVER } from '../limits.ts';
import type { LogLevel } from '../log.ts';
import { accountsOf } from './accounts.ts';
import { readServerConfigFile, type ServerConfigFile } from './file.ts';
import type { ServeFlag } from './flags.ts';
import { type GivenSettings, readFlags } from './given.ts';
import type { ConfigurableIssuers, TrustedIssuers } from './issuers-port.ts';

export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  readonly storeFolder: string;
  /** Undefined: the store is in `storeFolder`. */
  readonly fleet: FleetSettings | undefined;
  readonly maxSize: SizeLimit;
  readonly accounts: readonly AccountSettings[];
  readonly leaseMs: number;
  readonly maxBlobBytes: number;
  readonly scrubBytesPerSecond: number | undefined;
  readonly readOnly: boolean;
  readonly logLevel: LogLevel;
  /** The token with all rights. */
  readonly token: string | undefined;
  readonly s3Keys: S3Keys | undefined;
  readonly tokensFile: string | undefined;
  readonly anonymous: Identity | undefined;
  readonly issuers: TrustedIssuers | undefined;
}

/** What a server of a fleet shares with the others, and what it has for itself. */
export interface FleetSettings {
  readonly index: string;
  readonly blobs: string;
  readonly tier: { readonly folder: string; readonly maxSize: SizeLimit } | undefined;
  /** Of the whole fleet: in the bucket, and in PostgreSQL. */
  readonly maxBytes: number;
  readonly maxIndexBytes: number;
}

const NO_FILE: ServerConfigFile = { given: {}, places: new Map() };

/**
 * Throws ASSAY_USAGE or ASSAY_SERVER_CONFIG. Each call reads the file again. `issuers` reads the field of that name, if
 * this build can.
 */
export function readSettings(
  flags: ParsedFlags,
  env: NodeJS.ProcessEnv,
  issuers?: ConfigurableIssuers,
): Settings {
  if (flags.positionals.length > 0)
    throw usage(`serve takes no argument ${JSON.stringify(flags.positionals[0])}`);
  const configFile = flags.text('config');
  const file = configFile === undefined ? NO_FILE : readServerConfigFile(configFile, issuers);
  refuseTwice(file, flags, env);
  const asked = readFlags(flags);
  const written = file.given;
  return {
    host: asked.host ?? written.host ?? '127.0.0.1',
    port: asked.port ?? written.port ?? 8980,
    tls: asked.tls ?? written.tls,
    storeFolder: resolve(asked.storeFolder ?? written.storeFolder ?? (env.ASSAY_STORE || defaultFolder(env))),
    fleet: fleetOf(withoutUndefined(written, asked), env),
    maxSize: asked.maxSize ?? written.maxSize ?? { share: STORE.serverShare },
    accounts: accountsIn(asked, written),
    leaseMs: asked.leaseMs ?? written.leaseMs ?? STORE.leaseMs,
    maxBlobBytes: asked.maxBlobBytes ?? written.maxBlobBytes ?? SERVER.maxBlobBytes,
    scrubBytesPerSecond: asked.scrubBytesPerSecond ?? written.scrubBytesPerSecond,
    readOnly: asked.readOnly ?? written.readOnly ?? false,
    logLevel: asked.logLevel ?? written.logLevel ?? defaultLogLevel(),
    token: tokenOf(env.ASSAY_TOKEN),
    s3Keys: s3KeysOf(env.ASSAY_S3_ACCESS_KEY, env.ASSAY_S3_SECRET_KEY),
    tokensFile: asked.tokensFile ?? written.tokensFile ?? (env.ASSAY_TOKENS || undefined),
    anonymous: written.anonymous,
    issuers: written.issuers,
  };
}

/** Each of quotas and floors is in the file or on the command line, as a whole. */
function accountsIn(asked: GivenSettings, written: GivenSettings): AccountSettings[] {
  const quotas = asked.quotas ?? written.quotas ?? new Map();
  const floors = asked.floors ?? written.floors ?? new Map();
  return accountsOf({ quotas, floors }, written.issuers?.pullRequests ?? []);
}

/** Variables that give the setting of a flag. */
const VARIABLES: Partial<Record<ServeFlag, string>> = {
  store: 'ASSAY_STORE',
  index: 'ASSAY_INDEX',
  blobs: 'ASSAY_BLOBS',
  tokens: 'ASSAY_TOKENS',
};

function refuseTwice({ places }: ServerConfigFile, flags: ParsedFlags, env: NodeJS.ProcessEnv): void {
  const problems = new Problems();
  for (const [flag, place] of places) {
    const variable = VARIABLES[flag];
    const other = flags.given(flag) ? `--${flag}` : variable !== undefined && env[variable] && variable;
    if (other) problems.add(place.refuse(`this setting is also given by ${other}; give it once`));
  }
  problems.throwIfAny();
}

function fleetOf(given: GivenSettings, env: NodeJS.ProcessEnv): FleetSettings | undefined {
  const index = given.index ?? (env.ASSAY_INDEX || undefined);
  const blobs = given.blobs ?? (env.ASSAY_BLOBS || undefined);
  const { tierFolder, tierSize, maxSize, maxIndexSize } = given;
  if (index === undefined && blobs === undefined) {
    if (tierFolder !== undefined || tierSize !== undefined)
      throw usage('--tier and --tier-size need --index and --blobs');
    if (maxIndexSize !== undefined) throw usage('--max-index-size needs --index and --blobs');
    return undefined;
  }
  if (index === undefined || blobs === undefined)
    throw usage('a fleet needs both: --index, or ASSAY_INDEX, and --blobs, or ASSAY_BLOBS');
  if (!/^postgres(ql)?:\/\//.test(index)) throw usage('--index takes postgres://USER:PASSWORD@HOST:PORT/DB');
  if (given.storeFolder !== undefined) throw usage('give --store, or --index and --blobs, not both');
  if (given.leaseMs !== undefined)
    throw usage('the leases of a fleet are the same for all its servers: give --lease to `assay db migrate`');
  if (given.scrubBytesPerSecond !== undefined) throw usage('--verify-rate works only with --store');
  if (maxSize?.share !== undefined)
    throw usage(
      'with --index, --max-size is a number of bytes: a bucket has no size of which it could be a share',
    );
  if (maxIndexSize?.share !== undefined)
    throw usage(
      '--max-index-size is a number of bytes: a server does not know how large the disk of PostgreSQL is',
    );
  if (tierFolder === undefined && tierSize !== undefined) throw usage('--tier-size needs --tier');
  return {
    index,
    blobs,
    tier: tierFolder === undefined ? undefined : tierOf(tierFolder, tierSize),
    maxBytes: maxSize?.bytes ?? Number.POSITIVE_INFINITY,
    maxIndexBytes: (maxIndexSize ?? maxSize)?.bytes ?? Number.POSITIVE_INFINITY,
  };
}

function tierOf(folder: string, maxSize: SizeLimit = { share: STORE.serverShare }) {
  return { folder: resolve(folder), maxSize };
}

/** The later one wins, where it is given. */
function withoutUndefined(...given: readonly GivenSettings[]): GivenSettings {
  const entries = given.flatMap((one) => Object.entries(one).filter(([, value]) => value !== undefined));
  return Object.fromEntries(entries);
}

/** No client can present a token with white space, so such a value is a mistake. */
function tokenOf(text = ''): string | undefined {
  if (/\s/.test(text))
    throw usage('ASSAY_TOKEN contains a space or a line break, so no client can present it');
  return text || undefined;
}

function s3KeysOf(accessKey = '', secretKey = ''): S3Keys | undefined {
  if (accessKey === '' && secretKey === '') return undefined;
  if (accessKey === '' || secretKey === '')
    throw usage('set both ASSAY_S3_ACCESS_KEY and ASSAY_S3_SECRET_KEY, or neither');
  return { accessKey, secretKey };
}

function defaultFolder({ XDG_CACHE_HOME: caches }: NodeJS.ProcessEnv): string {
  return join(caches && isAbsolute(caches) ? caches : join(homedir(), '.cache'), 'assay', 'server');
}

/** A terminal shows the start message already, so the default there is `warn`. */
function defaultLogLevel(): LogLevel {
  return process.stderr.isTTY ? 'warn' : 'info';
}
