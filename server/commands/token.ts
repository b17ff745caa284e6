// `assay token`: creates, lists and revokes the tokens of a tokens file.
// Guarantee: a token is printed once, when it is created and on disk. Nothing else prints or stores it.
import { writeFileSync } from 'node:fs';
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseDuration,
  parseFlags,
  suggestion,
  usage,
} from '../../core/cli/command.ts';
import { AssayError, isSystemError, messageOf } from '../../core/errors.ts';
import { type Namespace, parseNamespace } from '../../core/namespace.ts';
import { parseRights, RIGHTS, RIGHTS_BY_NAME, type Right } from '../access/rights.ts';
import {
  isTokenName,
  makeToken,
  readTokens,
  stateOf,
  type TokenEntry,
  updateTokens,
} from '../access/tokens-file.ts';

const STDOUT = 1;
const STDERR = 2;

const flags = {
  tokens: { type: 'string', value: 'FILE', text: 'the tokens file; `create` makes it if it is missing' },
  namespace: {
    type: 'string',
    value: 'PATH',
    text: 'create: where the token writes, and what it reads first, such as acme/app/main',
  },
  reads: {
    type: 'string',
    value: 'PATH',
    multiple: true,
    text: 'create: another namespace that it reads, after its own and in the given order;\nit reads what lies above its own in any case',
  },
  rights: {
    type: 'string',
    value: 'RIGHTS',
    text: `create: read, write, read-write (default), or a list with commas of these and\n${RIGHTS.join(', ')}`,
  },
  expires: {
    type: 'string',
    value: 'TIME',
    text: 'create: how long it is valid, such as 12h or 30d (default: until it is revoked)',
  },
  jwt: {
    type: 'boolean',
    text: 'create: a token in the form of a JWT, as BuildKit’s cache type=gha needs it',
  },
  json: { type: 'boolean', text: 'list: print JSON' },
} satisfies FlagTable;

const ACTIONS: Readonly<
  Record<string, { flags: readonly string[]; run(given: ParsedFlags, file: string): Promise<void> }>
> = {
  create: { flags: ['tokens', 'namespace', 'reads', 'rights', 'expires', 'jwt'], run: create },
  list: { flags: ['tokens', 'json'], run: list },
  revoke: { flags: ['tokens'], run: revoke },
};

export const tokenCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: [
      'assay token create NAME --namespace PATH [--reads PATH …] [--rights RIGHTS] [--expires TIME] [--jwt] --tokens FILE',
      '       assay token list [--json] --tokens FILE',
      '       assay token revoke NAME|ID --tokens FILE',
    ].join('\n'),
    text: [
      'Manages the tokens of a server that runs with `assay serve --tokens FILE`.',
      '`create` prints the token, alone, on standard output. The file keeps only its SHA-256, so it is shown this once.',
      'Give it to clients as ASSAY_TOKEN, as a Bearer token, or as the password of Basic authentication.',
      'A running server follows the file: a new token works, and a revoked one is refused, within 5 seconds.',
      'Several tokens may have one name. To rotate: create a second one, give it to the clients, revoke the first by its ID.',
      'A token of --jwt is used as any other one. What its claims say is for BuildKit; the server reads none of it.',
      '`revoke NAME` revokes all tokens of that name.',
    ].join('\n'),
    flags,
    environment: { ASSAY_TOKENS: 'the same as --tokens' },
    exitCodes: { '0': 'done', '2': 'refused, and nothing was changed; the error says why' },
    examples: [
      'assay token create main --namespace acme/app/main --tokens tokens.json',
      'assay token create pull-requests --namespace acme/app/pr --reads acme/app/main --expires 30d --tokens tokens.json',
      'assay token create team --namespace acme --rights read,overview --tokens tokens.json',
      'assay token create buildkit --namespace acme/app/main --jwt --tokens tokens.json',
      'assay token create prometheus --namespace monitoring --rights server:stats --tokens tokens.json',
      'assay token list --tokens tokens.json',
      'assay token revoke pull-requests --tokens tokens.json',
    ],
  },
  async main(args) {
    const given: ParsedFlags = parseFlags(args, flags);
    const [name = ''] = given.positionals;
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (!action) throw noSuchAction(name);
    const stray = Object.keys(flags).find((flag) => given.given(flag) && !action.flags.includes(flag));
    if (stray !== undefined) throw usage(`token ${name} takes no --${stray}`);
    const file = given.text('tokens') ?? process.env.ASSAY_TOKENS;
    if (!file) throw usage('name the tokens file: --tokens FILE, or ASSAY_TOKENS');
    await action.run(given, file);
    return 0;
  },
};

function noSuchAction(name: string): AssayError {
  const names = Object.keys(ACTIONS);
  if (name === '') return usage(`token takes one of ${names.join(', ')}`);
  return usage(`there is no token ${JSON.stringify(name)}${suggestion(name, names, '')}`);
}

async function create(given: ParsedFlags, file: string): Promise<void> {
  const name = onlyArgument(given, 'NAME');
  if (!isTokenName(name))
    throw usage(
      `${JSON.stringify(name)} can’t name a token: use letters, digits and "._@:/+-", and not 12 hex digits as an ID has`,
    );
  const now = Date.now();
  const expires = given.text('expires');
  const { token, entry } = makeToken(
    {
      name,
      namespace: namespaceOf(given),
      reads: given.all('reads').map(parseNamespace),
      rights: rightsOf(given.text('rights') ?? 'read-write'),
      expiresAt: expires === undefined ? undefined : now + expiryOf(expires),
    },
    now,
    given.given('jwt') ? 'jwt' : 'plain',
  );
  await updateTokens(file, (entries) => [...entries, entry]);
  try {
    writeFileSync(STDOUT, `${token}\n`);
  } catch (error) {
    // Nobody has the token, so its entry would only mislead.
    await updateTokens(file, (entries) => entries.filter(({ id }) => id !== entry.id));
    throw new AssayError('ASSAY_TOKENS_FILE', `the token could not be printed: ${messageOf(error)}`);
  }
  say(
    `assay token: created ${labelOf(entry)} for ${entry.namespace}, ${rightsText(entry)}${untilText(entry)}`,
  );
}

function onlyArgument({ positionals: [action, only, ...more] }: ParsedFlags, what: string): string {
  if (only === undefined || more.length > 0)
    throw usage(`token ${action} takes one ${what}${more.length > 0 ? `, not also ${more.join(' ')}` : ''}`);
  return only;
}

function namespaceOf(given: ParsedFlags): Namespace {
  const text = given.text('namespace');
  if (text === undefined) throw usage('token create needs --namespace PATH, such as acme/app/main');
  return parseNamespace(text);
}

/** In the order of RIGHTS. */
function rightsOf(text: string): Right[] {
  const rights = parseRights(text);
  if (!rights)
    throw usage(
      `--rights takes ${Object.keys(RIGHTS_BY_NAME).join(', ')}, or a list with commas of ${RIGHTS.join(', ')}, not ${JSON.stringify(text)}`,
    );
  return RIGHTS.filter((right) => rights.has(right));
}

/** A date beyond the year 9999 has no form in ISO 8601 that every program reads. */
function expiryOf(text: string): number {
  const time = parseDuration('--expires', text);
  if (Date.now() + time > Date.UTC(9999, 0)) throw usage(`--expires ${text} is too long`);
  return time;
}

async function revoke(given: ParsedFlags, file: string): Promise<void> {
  const wanted = onlyArgument(given, 'NAME or ID');
  const now = Date.now();
  const isWanted = ({ id, name }: TokenEntry) => id === wanted || name === wanted;
  let found: TokenEntry[] = [];
  const existing = entriesOf(file);
  if (!existing.some(isWanted)) throw noSuchToken(file, wanted, existing);
  await updateTokens(file, (entries) => {
    found = entries.filter(isWanted);
    return entries.map((entry) =>
      isWanted(entry) && entry.revokedAt === undefined ? { ...entry, revokedAt: now } : entry,
    );
  });
  for (const entry of found) {
    const state = stateOf(entry, now);
    const before = state === 'valid' ? '' : ` (it was ${state} already)`;
    say(`assay token: revoked ${labelOf(entry)}${before}`);
  }
}

function noSuchToken(file: string, wanted: string, entries: readonly TokenEntry[]): AssayError {
  const names = [...new Set(entries.map(({ name }) => name))];
  const hint = suggestion(wanted, names, '');
  return new AssayError('ASSAY_NO_TOKEN', `${JSON.stringify(wanted)} in ${file}${hint}`);
}

function entriesOf(file: string): readonly TokenEntry[] {
  const entries = readTokens(file);
  if (!entries) throw new AssayError('ASSAY_TOKENS_FILE', `${file}: there is no such file`);
  return entries;
}

async function list(given: ParsedFlags, file: string): Promise<void> {
  const [, stray] = given.positionals;
  if (stray !== undefined) throw usage(`token list takes no argument ${JSON.stringify(stray)}`);
  const entries = entriesOf(file);
  const now = Date.now();
  if (given.given('json')) print(`${JSON.stringify(entries.map((entry) => asJson(entry, now)))}\n`);
  else if (entries.length === 0) say(`assay token: ${file} has no tokens`);
  else print(table(entries, now));
}

/** A closed reader (`assay token list | head`) is not an error. */
function print(text: string): void {
  try {
    writeFileSync(STDOUT, text);
  } catch (error) {
    if (!isSystemError(error, 'EPIPE')) throw error;
  }
}

function asJson(entry: TokenEntry, now: number) {
  const { id, name, namespace, reads, rights, createdAt, expiresAt, revokedAt } = entry;
  const time = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
  return {
    id,
    name,
    namespace,
    reads,
    rights,
    createdAt: time(createdAt),
    expiresAt: time(expiresAt),
    revokedAt: time(revokedAt),
    state: stateOf(entry, now),
  };
}

function table(entries: readonly TokenEntry[], now: number): string {
  const head = ['NAME', 'ID', 'NAMESPACE', 'READS', 'RIGHTS', 'CREATED', 'EXPIRES', 'STATE'];
  const rows = entries.map((entry) => [
    entry.name,
    entry.id,
    entry.namespace,
    entry.reads.join(',') || '-',
    rightsText(entry),
    dayOf(entry.createdAt),
    entry.expiresAt === undefined ? 'never' : dayOf(entry.expiresAt),
    stateOf(entry, now),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const lines = [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** To the minute, in UTC. */
function dayOf(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16)}Z`;
}

/** The short name of these rights, if they have one. */
function rightsText({ rights }: TokenEntry): string {
  const short = Object.entries(RIGHTS_BY_NAME).find(
    ([, named]) => named.length === rights.length && named.every((right) => rights.includes(right)),
  );
  return short?.[0] ?? rights.join(',');
}

function untilText({ expiresAt }: TokenEntry): string {
  return expiresAt === undefined ? '' : `, until ${dayOf(expiresAt)}`;
}

function labelOf({ name, id }: TokenEntry): string {
  return `${name} (${id})`;
}

function say(line: string): void {
  writeFileSync(STDERR, `${line}\n`);
}
