// `assay login --oidc`: a job of a CI service proves who it is, and gets a token that ends within the hour.
// Guarantee: no secret is in a message. With --optional no failure of the cache fails the job.
import { parseRemoteUrl } from '../../../client/remote/url.ts';
import { SyncStream } from '../../../client/terminal/sync-stream.ts';
import {
  type CommandModule,
  type FlagTable,
  type ParsedFlags,
  parseFlags,
  usage,
} from '../../../core/cli/command.ts';
import { AssayError } from '../../../core/errors.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { wrapInJwt } from '../../../core/tokens/jwt.ts';
import { exchangeToken, type ServerToken } from './exchange.ts';
import { identityToken } from './identity-token.ts';
import {
  addToGitHub,
  type LoginVariables,
  loginVariables,
  maskCommands,
  writeForShell,
} from './variables.ts';

const flags = {
  oidc: { type: 'boolean', text: 'log in with the OpenID Connect token of this job' },
  remote: { type: 'string', value: 'URL', text: 'the shared cache (default: ASSAY_REMOTE)' },
  audience: {
    type: 'string',
    value: 'TEXT',
    text: 'the audience in the server’s configuration (default: the remote’s URL without its path)',
  },
  'token-file': {
    type: 'string',
    value: 'FILE',
    text: 'read the job’s token from a file, or from standard input with -;\notherwise GitHub is asked, or ASSAY_ID_TOKEN is taken (GitLab)',
  },
  rights: {
    type: 'string',
    value: 'RIGHTS',
    text: 'ask for fewer rights: read, write, or names with commas',
  },
  s3: { type: 'boolean', text: 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY too' },
  jwt: {
    type: 'boolean',
    text: 'give the token the form of a JWT, as BuildKit’s cache type=gha needs it',
  },
  env: {
    type: 'string',
    value: 'NAME',
    multiple: true,
    text: 'set this variable to the token too, for a tool with its own (TURBO_TOKEN)',
  },
  file: {
    type: 'string',
    value: 'FILE',
    text: 'write the variables to a file that only you can read, for `. FILE`',
  },
  print: { type: 'boolean', text: 'print the token alone' },
  optional: {
    type: 'boolean',
    text: 'if it fails, warn and end with 0: the build goes on without the cache',
  },
} satisfies FlagTable;

export const loginCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay login --oidc [FLAGS]',
    text: [
      'Exchanges the token of a CI job for one of the shared cache, bound to the job’s namespace.',
      'In GitHub Actions it masks the token and sets ASSAY_TOKEN for the next steps; the job needs `permissions: id-token: write`.',
      'Elsewhere use --file or --print. In GitLab, define ASSAY_ID_TOKEN in `id_tokens:` with the server’s audience.',
    ].join('\n'),
    flags,
    environment: {
      ASSAY_REMOTE: 'the remote’s URL',
      ASSAY_ID_TOKEN: 'the job’s token, where GitHub is not asked',
      GITHUB_ENV: 'where the variables are written in GitHub Actions, without --file and --print',
    },
    exitCodes: { '0': 'logged in, or failed with --optional', '2': 'failed; the error says why' },
    examples: [
      'assay login --oidc',
      'assay login --oidc --optional --env TURBO_TOKEN --s3',
      'assay login --oidc --jwt --env ACTIONS_RUNTIME_TOKEN',
      'assay login --oidc --file login.env && . ./login.env',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const settings = readSettings(parsed, process.env);
    try {
      await login(settings);
    } catch (error) {
      if (!parsed.given('optional') || !(error instanceof AssayError)) throw error;
      say(`warning: ${error.code}: ${error.detail}; the build goes on without the cache`);
    }
    return 0;
  },
};

interface Settings {
  readonly origin: URL;
  readonly audience: string;
  readonly tokenFile: string | undefined;
  readonly scope: string | undefined;
  readonly isJwt: boolean;
  readonly wanted: { readonly s3: boolean; readonly names: readonly string[] };
  readonly target: Target;
  readonly env: NodeJS.ProcessEnv;
}

/** Where the token goes. */
type Target =
  | { readonly kind: 'print' }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'github'; readonly file: string };

const VARIABLE = /^[A-Za-z_][0-9A-Za-z_]*$/;

function readSettings(given: ParsedFlags, env: NodeJS.ProcessEnv): Settings {
  if (given.positionals.length > 0) throw usage('assay login takes no arguments');
  if (!given.given('oidc')) throw usage('say how to log in: assay login --oidc');
  const remote = given.text('remote') ?? env.ASSAY_REMOTE;
  if (!remote) throw usage('name the shared cache with --remote or ASSAY_REMOTE');
  const names = given.all('env');
  const bad = names.find((name) => !VARIABLE.test(name));
  if (bad !== undefined) throw usage(`--env takes the name of a variable, not ${JSON.stringify(bad)}`);
  const origin = originOf(parseRemoteUrl(remote));
  return {
    origin,
    audience: given.text('audience') ?? origin.origin,
    tokenFile: given.text('token-file'),
    scope: given.text('rights')?.replaceAll(',', ' '),
    isJwt: given.given('jwt'),
    wanted: { s3: given.given('s3'), names },
    target: targetOf(given, env),
    env,
  };
}

/** gRPC and HTTP share a port, so the exchange is at the same one. */
function originOf({ protocol, host }: URL): URL {
  return new URL(`${protocol === 'https:' || protocol === 'grpcs:' ? 'https:' : 'http:'}//${host}`);
}

function targetOf(given: ParsedFlags, env: NodeJS.ProcessEnv): Target {
  const file = given.text('file');
  if (given.given('print')) {
    if (file !== undefined) throw usage('--print and --file can’t be combined');
    if (given.given('s3') || given.given('env'))
      throw usage('--print prints the token alone; use --file for --s3 and --env');
    return { kind: 'print' };
  }
  if (file !== undefined) return { kind: 'file', file };
  if (env.GITHUB_ENV) return { kind: 'github', file: env.GITHUB_ENV };
  throw usage('say where the token goes: --file FILE or --print (in GitHub Actions it goes to $GITHUB_ENV)');
}

async function login(settings: Settings): Promise<void> {
  const { origin, audience, tokenFile, scope, isJwt, wanted, target, env } = settings;
  // After a failure the file exists and is empty: `. FILE` works, and does not find an earlier token.
  if (target.kind === 'file') writeForShell(target.file, {});
  const idToken = await identityToken({ audience, tokenFile, env });
  const issued = await exchangeToken(origin, idToken, scope);
  const token = isJwt ? inJwt(issued) : issued;
  if (env.GITHUB_ACTIONS === 'true' || target.kind === 'github')
    new SyncStream(2).write(maskCommands(issued, token));
  const variables = loginVariables(token, wanted);
  if (target.kind === 'print') new SyncStream(1).write(`${token.token}\n`);
  else if (target.kind === 'file') writeForShell(target.file, variables);
  else addToGitHub(target.file, variables);
  say(summary(origin, token, target, variables));
}

/** Everything but the text of the token is as before: S3's keys have no such form. */
function inJwt(issued: ServerToken): ServerToken {
  const { token, rights, expiresInSeconds } = issued;
  const wrapped = wrapInJwt(token, {
    namespace: parseNamespace(issued.namespace),
    reads: issued.reads.map(parseNamespace),
    mayRead: rights.includes('results:read'),
    mayWrite: rights.includes('results:write'),
    expiresAt: Date.now() + expiresInSeconds * 1000,
  });
  return { ...issued, token: wrapped };
}

/** One line: the namespace, what else is read, the rights, the end. */
function summary(origin: URL, token: ServerToken, target: Target, variables: LoginVariables): string {
  const { namespace, reads, rights, expiresInSeconds } = token;
  const end = new Date(Date.now() + expiresInSeconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
  const parts = [
    `logged in to ${origin.origin}: writes ${namespace}`,
    `reads ${['it', ...reads].join(', ')}`,
    `rights ${rightsText(rights)}`,
    `until ${end}`,
    ...(target.kind === 'print'
      ? []
      : [`${Object.keys(variables).join(', ')} in ${target.kind === 'file' ? target.file : '$GITHUB_ENV'}`]),
  ];
  return parts.join('; ');
}

function rightsText(rights: readonly string[]): string {
  const [reads, writes] = [rights.includes('results:read'), rights.includes('results:write')];
  if (reads && writes) return 'read-write';
  if (reads) return 'read';
  return writes ? 'write' : rights.join(', ');
}

function say(text: string): void {
  new SyncStream(2).write(`assay: ${text}\n`);
}
