// The token with which a job proves who it is: from GitHub, from GitLab, or from a file.
import { readFileSync } from 'node:fs';
import { AssayError, messageOf } from '../../../core/errors.ts';
import { askJson } from './ask-json.ts';

interface TokenRequest {
  /** For whom the token is: the name of the server. */
  readonly audience: string;
  /** "-" is standard input. */
  readonly tokenFile: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

const STDIN = 0;

/** Three parts of base64url. A token from a file may end in a line break. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export async function identityToken({ audience, tokenFile, env }: TokenRequest): Promise<string> {
  const token = (await findToken(audience, tokenFile, env)).trim();
  if (!TOKEN.test(token)) throw noToken('what was found is no id token');
  return token;
}

function findToken(
  audience: string,
  tokenFile: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<string> | string {
  if (tokenFile !== undefined) return readToken(tokenFile);
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = env;
  if (url && bearer) return askGitHub(url, bearer, audience);
  if (env.ASSAY_ID_TOKEN) return env.ASSAY_ID_TOKEN;
  if (env.GITHUB_ACTIONS === 'true')
    throw noToken(
      'GitHub gave this job none: set `permissions: id-token: write`; pull requests from forks never get one',
    );
  if (env.GITLAB_CI === 'true')
    throw noToken('GitLab gave this job none: define ASSAY_ID_TOKEN in its `id_tokens:`');
  throw noToken('there is no job of GitHub or GitLab here; name a file with --token-file');
}

function readToken(file: string): string {
  try {
    return readFileSync(file === '-' ? STDIN : file, 'utf8');
  } catch (error) {
    throw noToken(messageOf(error));
  }
}

async function askGitHub(url: string, bearer: string, audience: string): Promise<string> {
  if (!URL.canParse(url)) throw noToken('ACTIONS_ID_TOKEN_REQUEST_URL is no URL');
  const address = new URL(url);
  address.searchParams.set('audience', audience);
  const { status, value } = await askJson(address, { headers: { authorization: `Bearer ${bearer}` } });
  const { value: token }: { value?: unknown } = Object(value);
  if (status !== 200 || typeof token !== 'string') throw noToken(`GitHub answered ${status}`);
  return token;
}

function noToken(why: string): AssayError {
  return new AssayError('ASSAY_NO_ID_TOKEN', why);
}
