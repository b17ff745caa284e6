// Reads the server's configuration file.
// Guarantee: it is used whole or not at all, and all its mistakes are reported together, with line and column.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseDuration } from '../../core/cli/command.ts';
import { type ConfigValue, parseDocument } from '../../core/config/document.ts';
import { Problems } from '../../core/config/problems.ts';
import type { FieldTable } from '../../core/config/schema.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { MIB } from '../../core/units.ts';
import { parseSizeLimit } from '../../store/size-limit.ts';
import type { Identity } from '../access/identity.ts';
import { namespaceAt, ownNamespaceAt } from '../access/namespace-field.ts';
import { RIGHTS, RIGHTS_BY_NAME, type Right } from '../access/rights.ts';
import type { TlsFiles } from '../connection/tls.ts';
import { LOG_LEVELS } from '../log.ts';
import { parseSizes, type SizeByNamespace } from './accounts.ts';
import { ANONYMOUS_FIELDS, LISTEN_FIELDS, SERVER_FIELDS, STORE_FIELDS, TLS_FIELDS } from './fields.ts';
import type { ServeFlag } from './flags.ts';
import { type GivenSettings, RANGES } from './given.ts';
import type { ConfigurableIssuers, TrustedIssuers } from './issuers-port.ts';

export interface ServerConfigFile {
  readonly given: GivenSettings;
  /** Where the file has the setting of a flag. */
  readonly places: ReadonlyMap<ServeFlag, ConfigValue>;
}

/** Throws ASSAY_SERVER_CONFIG, or ASSAY_NOT_IN_BUILD if there are issuers that nobody reads. */
export function readServerConfigFile(file: string, issuers?: ConfigurableIssuers): ServerConfigFile {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new AssayError('ASSAY_SERVER_CONFIG', `${file}: ${messageOf(cause)}`, { cause });
  }
  return parseConfig(file, text, issuers);
}

export function parseConfig(file: string, text: string, issuers?: ConfigurableIssuers): ServerConfigFile {
  const root = parseDocument({ file, text, code: 'ASSAY_SERVER_CONFIG' });
  return new Reader(dirname(file), issuers).read(root);
}

type Fields<Table> = Partial<Record<keyof Table & string, ConfigValue>>;

class Reader {
  readonly #folder: string;
  readonly #issuerReader: ConfigurableIssuers | undefined;
  readonly #problems = new Problems();
  readonly #places = new Map<ServeFlag, ConfigValue>();

  /** Paths are relative to `folder`. */
  constructor(folder: string, issuers: ConfigurableIssuers | undefined) {
    this.#folder = folder;
    this.#issuerReader = issuers;
  }

  read(root: ConfigValue): ServerConfigFile {
    const problems = this.#problems;
    const fields = root.fields(SERVER_FIELDS, problems);
    const listen = this.#fieldsOf(fields.listen, LISTEN_FIELDS);
    const store = this.#fieldsOf(fields.store, STORE_FIELDS);
    problems.read(fields.$schema, (at) => at.text());
    const verifyRate = this.#take('verify-rate', store.verifyRate, (at) => at.number(...RANGES.verifyRate));
    const given: GivenSettings = {
      host: this.#take('host', listen.host, filledText),
      port: this.#take('port', listen.port, (at) => at.number(...RANGES.port)),
      tls: this.#tls(fields.tls),
      storeFolder: this.#take('store', store.folder, (at) => this.#path(at)),
      index: this.#take('index', store.index, filledText),
      blobs: this.#take('blobs', store.blobs, filledText),
      tierFolder: this.#take('tier', store.tier, (at) => this.#path(at)),
      tierSize: this.#take('tier-size', store.tierSize, (at) => parsed(at, parseSizeLimit)),
      maxSize: this.#take('max-size', store.maxSize, (at) => parsed(at, parseSizeLimit)),
      maxIndexSize: this.#take('max-index-size', store.maxIndexSize, (at) => parsed(at, parseSizeLimit)),
      quotas: this.#take('quota', store.quotas, sizesAt),
      floors: this.#take('floor', store.floors, sizesAt),
      leaseMs: this.#take('lease', store.lease, (at) => parsed(at, parseDuration)),
      maxBlobBytes: this.#take('max-blob', store.maxBlob, (at) => at.number(...RANGES.maxBlob)),
      scrubBytesPerSecond: verifyRate === undefined ? undefined : MIB * verifyRate,
      readOnly: this.#take('read-only', fields.readOnly, (at) => at.flag()),
      logLevel: this.#take('log-level', fields.logLevel, (at) => at.oneOf(LOG_LEVELS)),
      tokensFile: this.#take('tokens', fields.tokens, (at) => this.#path(at)),
      anonymous: this.#anonymous(fields.anonymous),
      issuers: problems.read(fields.issuers, (at) => this.#issuers(at)),
    };
    problems.throwIfAny();
    return { given, places: this.#places };
  }

  #fieldsOf<Table extends FieldTable>(value: ConfigValue | undefined, table: Table): Fields<Table> {
    return this.#problems.read(value, (at) => at.fields(table, this.#problems)) ?? {};
  }

  #take<T>(flag: ServeFlag, value: ConfigValue | undefined, read: (at: ConfigValue) => T): T | undefined {
    if (value) this.#places.set(flag, value);
    return this.#problems.read(value, read);
  }

  /** Undefined if it is missing or wrong, which is one of the problems then. */
  #required<T>(
    within: ConfigValue,
    name: string,
    value: ConfigValue | undefined,
    read: (at: ConfigValue) => T,
  ): T | undefined {
    if (!value) this.#problems.add(within.refuse(`${JSON.stringify(name)} is missing`));
    return this.#problems.read(value, read);
  }

  #tls(value: ConfigValue | undefined): TlsFiles | undefined {
    if (!value) return undefined;
    for (const flag of ['tls-cert', 'tls-key', 'tls-client-ca'] as const) this.#places.set(flag, value);
    const fields = this.#fieldsOf(value, TLS_FIELDS);
    const path = (at: ConfigValue) => this.#path(at);
    const cert = this.#required(value, 'cert', fields.cert, path);
    const key = this.#required(value, 'key', fields.key, path);
    const clientCa = this.#problems.read(fields.clientCa, path);
    return cert === undefined || key === undefined ? undefined : { cert, key, clientCa };
  }

  #anonymous(value: ConfigValue | undefined): Identity | undefined {
    if (!value) return undefined;
    const fields = this.#fieldsOf(value, ANONYMOUS_FIELDS);
    const namespace = this.#required(value, 'namespace', fields.namespace, ownNamespaceAt);
    const rights = this.#required(value, 'rights', fields.rights, rightsAt);
    const reads = this.#problems.read(fields.reads, (at) => at.list('a list of namespaces').map(namespaceAt));
    if (namespace === undefined || rights === undefined) return undefined;
    return { name: 'anonymous', namespace, rights, reads: reads ?? [] };
  }

  #issuers(at: ConfigValue): TrustedIssuers {
    if (this.#issuerReader) return this.#issuerReader.parse(at);
    const { detail } = at.refuse('this build of Assay can’t verify tokens of issuers');
    throw new AssayError('ASSAY_NOT_IN_BUILD', detail);
  }

  #path(at: ConfigValue): string {
    return resolve(this.#folder, filledText(at));
  }
}

function filledText(at: ConfigValue): string {
  const { text } = at.text();
  if (text === '') throw at.refuse('the text is empty');
  return text;
}

/** With a parser of flags. Its message becomes one with line and column. */
function parsed<T>(at: ConfigValue, parse: (what: string, text: string) => T): T {
  const { text } = at.text();
  try {
    return parse('this field', text);
  } catch (error) {
    throw error instanceof AssayError ? at.refuse(error.detail) : error;
  }
}

function sizesAt(value: ConfigValue): SizeByNamespace {
  const texts = [...value.entries()].map(([namespace, at]) => ({ at: at.value, text: `${namespace}=` }));
  const sizes = texts.map(({ at, text }) =>
    parsed(at, (field, size) => parseSizes(field, [`${text}${size}`])),
  );
  return new Map(sizes.flatMap((one) => [...one]));
}

function rightsAt(at: ConfigValue): ReadonlySet<Right> {
  if (at.isList) return new Set(at.list().map((right) => right.oneOf(RIGHTS)));
  return new Set<Right>(RIGHTS_BY_NAME[at.oneOf(['read', 'write', 'read-write'])]);
}
