// GivenSettings: what a person asked for, on the command line or in the configuration file. Both are read to
// this one form. What is undefined was not asked for.
import { type ParsedFlags, parseDuration, parseNumber, usage } from '../../core/cli/command.ts';
import { MIB } from '../../core/units.ts';
import { parseSizeLimit, type SizeLimit } from '../../store/size-limit.ts';
import type { Identity } from '../access/identity.ts';
import type { TlsFiles } from '../connection/tls.ts';
import { LOG_LEVELS, type LogLevel } from '../log.ts';
import { parseSizes, type SizeByNamespace } from './accounts.ts';
import type { ServeFlag } from './flags.ts';
import type { TrustedIssuers } from './issuers-port.ts';

export interface GivenSettings {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly tls?: TlsFiles | undefined;
  readonly storeFolder?: string | undefined;
  readonly index?: string | undefined;
  readonly blobs?: string | undefined;
  readonly tierFolder?: string | undefined;
  readonly tierSize?: SizeLimit | undefined;
  readonly maxSize?: SizeLimit | undefined;
  readonly maxIndexSize?: SizeLimit | undefined;
  readonly quotas?: SizeByNamespace | undefined;
  readonly floors?: SizeByNamespace | undefined;
  readonly leaseMs?: number | undefined;
  readonly maxBlobBytes?: number | undefined;
  readonly scrubBytesPerSecond?: number | undefined;
  readonly readOnly?: boolean | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly tokensFile?: string | undefined;
  /** Only in the file. */
  readonly anonymous?: Identity | undefined;
  readonly issuers?: TrustedIssuers | undefined;
}

/** The limits of numbers, for flags and for fields. */
export const RANGES = {
  port: [0, 65_535],
  maxBlob: [1, Number.MAX_SAFE_INTEGER],
  verifyRate: [1, 1_000_000],
} as const;

export function readFlags(flags: ParsedFlags): GivenSettings {
  const text = (name: ServeFlag) => flags.text(name);
  const read = <T>(name: ServeFlag, parse: (flag: string, given: string) => T): T | undefined => {
    const given = text(name);
    return given === undefined ? undefined : parse(`--${name}`, given);
  };
  const verifyRate = read('verify-rate', (flag, given) => parseNumber(flag, given, ...RANGES.verifyRate));
  return {
    host: text('host'),
    port: read('port', (flag, given) => parseNumber(flag, given, ...RANGES.port)),
    tls: tlsFilesOf(text('tls-cert'), text('tls-key'), text('tls-client-ca')),
    storeFolder: text('store'),
    index: text('index'),
    blobs: text('blobs'),
    tierFolder: text('tier'),
    tierSize: read('tier-size', parseSizeLimit),
    maxSize: read('max-size', parseSizeLimit),
    maxIndexSize: read('max-index-size', parseSizeLimit),
    quotas: flags.given('quota') ? parseSizes('--quota', flags.all('quota')) : undefined,
    floors: flags.given('floor') ? parseSizes('--floor', flags.all('floor')) : undefined,
    leaseMs: read('lease', parseDuration),
    maxBlobBytes: read('max-blob', (flag, given) => parseNumber(flag, given, ...RANGES.maxBlob)),
    scrubBytesPerSecond: verifyRate === undefined ? undefined : MIB * verifyRate,
    readOnly: flags.given('read-only') || undefined,
    logLevel: read('log-level', parseLogLevel),
    tokensFile: text('tokens'),
  };
}

function tlsFilesOf(cert?: string, key?: string, clientCa?: string): TlsFiles | undefined {
  if (cert !== undefined && key !== undefined) return { cert, key, clientCa };
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  throw usage('TLS needs both --tls-cert and --tls-key');
}

function parseLogLevel(flag: string, text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (!level) throw usage(`${flag} takes ${LOG_LEVELS.join(', ')}, not ${JSON.stringify(text)}`);
  return level;
}
