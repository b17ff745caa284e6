// A bug report about results: text that a person reads before sending it, one JSON object a line. It has no content of files
// and no log.
// Guarantee: a text that looks like a secret is replaced by "(hidden)", wherever it stands: in commands, variables, paths,
// evidence and facts. Nothing recognizes every secret, so a person still has to look.
import { actionDetails } from '../../../client/history/action-details.ts';
import { homeFolder } from '../../../client/local-store/store-folder.ts';
import { looksSecret } from '../../../client/path-sets/secret-names.ts';
import { messageOf } from '../../../core/errors.ts';
import { actionNamedBy } from '../../../core/metadata/receipt.ts';
import { decodeResult } from '../../../core/result.ts';
import type { Store } from '../../../store/store.ts';
import type { Maker } from '../format/records.ts';
import type { RecordSource } from './source.ts';

const HIDDEN = '(hidden)';

export async function* reportLines(records: RecordSource, store: Store, made: Maker): AsyncGenerator<string> {
  yield lineOf({ report: 1, made });
  const told = new Set<string>();
  for await (const { in: kind, key, bytes } of records.results()) {
    const result = decodeResult(bytes);
    const action = actionNamedBy(result) ?? key;
    if (kind === '' && told.has(action)) continue;
    told.add(action);
    if (kind === '') yield lineOf(await detailsOf(action, store));
    else yield lineOf({ in: kind, key, outputs: pathsIn(result) });
  }
  for await (const label of records.labels()) yield lineOf({ label });
}

async function detailsOf(action: Parameters<typeof actionDetails>[0], store: Store): Promise<object> {
  try {
    return { action: await actionDetails(action, store) };
  } catch (error) {
    return { action: { key: action }, why: messageOf(error) };
  }
}

function pathsIn({
  outputFiles,
  outputDirectories,
  outputSymlinks,
}: ReturnType<typeof decodeResult>): string[] {
  return [...outputFiles, ...outputDirectories, ...outputSymlinks].map(({ path }) => path);
}

function lineOf(value: object): string {
  return `${JSON.stringify(withoutSecrets(value, homeFolder()))}\n`;
}

/** `home`: replaced by "~", because it names the user. */
export function withoutSecrets(value: unknown, home: string): unknown {
  if (typeof value === 'string') return safeText(value, home);
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, home));
  if (typeof value !== 'object' || value === null) return value;
  const { path, what } = { path: undefined, what: undefined, ...value };
  const isOfSecretFile = [path, what].some((name) => typeof name === 'string' && looksSecret(name, false));
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const isHidden = SECRET_NAME.test(name) || (isOfSecretFile && (name === 'hash' || name === 'state'));
      return [name, isHidden ? HIDDEN : withoutSecrets(field, home)];
    }),
  );
}

const SECRET_NAME =
  /(?:^|[_-])(?:token|secret|password|passwd|pwd|api_?key|private_?key|credentials?|auth(?:orization)?)(?:$|[_-])/i;
const ASSIGNED =
  /((?:token|secret|password|passwd|pwd|api[-_]?key|private[-_]?key|credentials?|authorization|bearer|auth)["']?(?:\s*[=:]\s*|\s+)(?:bearer\s+|basic\s+)?["']?)[^\s"',;&]+/gi;
const IN_URL = /(:\/\/)[^\s/@]+@/g;
/** Tokens of GitHub, GitLab, Slack, AWS, npm, PyPI, Assay; JSON web tokens; private keys. */
const KNOWN =
  /\b(?:gh[a-z]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{15,}|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|npm_\w{30,}|pypi-[\w-]{30,}|assay\d?-[\w.-]{20,}|eyJ[\w-]{10,}\.[\w-]+\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*/g;
/** A long text of upper and lower case and digits is random. Hex digits are digests. */
const LONG = /[A-Za-z0-9+/_=-]{32,}/g;

function safeText(text: string, home: string): string {
  const shown = home.length > 1 ? text.replaceAll(home, '~') : text;
  return shown
    .replace(KNOWN, HIDDEN)
    .replace(IN_URL, `$1${HIDDEN}@`)
    .replace(ASSIGNED, `$1${HIDDEN}`)
    .replace(LONG, (word) => (isRandom(word) ? HIDDEN : word));
}

function isRandom(word: string): boolean {
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(word)).length;
  return kinds === 3 && !word.includes('/') && !/^[0-9a-f]+$/i.test(word);
}
