// The program of issuer.ts: an issuer of OpenID Connect on a free port of the loopback. Its private keys
// never leave it. Tests control it with POST; a CI service's endpoint for id tokens is at /id-token.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { calculateJwkThumbprint, exportJWK, type JWK, SignJWT } from 'jose';

interface Key {
  readonly algorithms: readonly string[];
  readonly privateKey: KeyObject;
  readonly jwk: JWK;
}

let keys: Key[] = [];
let published: JWK[] = [];
let fetches = 0;
let mode = 'well';
/** What /id-token puts into each token, besides the audience. */
let jobClaims: Record<string, unknown> = {};
let tokens = 0;

async function makeKeys(): Promise<Key[]> {
  const pairs = [
    { algorithms: ['RS256', 'PS256'], ...generateKeyPairSync('rsa', { modulusLength: 2048 }) },
    { algorithms: ['ES256'], ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) },
    { algorithms: ['EdDSA'], ...generateKeyPairSync('ed25519') },
  ];
  return await Promise.all(
    pairs.map(async ({ algorithms, privateKey, publicKey }) => {
      const jwk = await exportJWK(publicKey);
      return { algorithms, privateKey, jwk: { ...jwk, use: 'sig', kid: await calculateJwkThumbprint(jwk) } };
    }),
  );
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(500).end(String(error));
  });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '', issuer());
  const send = (value: unknown, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  if (request.method === 'POST') {
    const given = Object(JSON.parse((await request.toArray()).join('') || '{}'));
    send(await control(url.pathname, given));
  } else if (url.pathname === '/fetches') send(fetches);
  else if (url.pathname === '/id-token') await idToken(request, url, send);
  else if (mode === 'silent') return;
  else if (mode === 'fails') send({}, 500);
  else if (mode === 'redirects') response.writeHead(302, { location: `${issuer()}/elsewhere` }).end();
  else if (mode === 'endless') while (!response.destroyed) await written(response);
  else if (url.pathname === '/.well-known/openid-configuration') send(discovery());
  else if (url.pathname === '/jwks') {
    fetches++;
    send({ keys: published });
  } else send({}, 404);
}

async function control(path: string, given: Record<string, unknown>): Promise<unknown> {
  if (path === '/sign') return sign(given);
  if (path === '/rotate') return rotate(given);
  if (path === '/mode') mode = String(given.mode);
  if (path === '/publish' && Array.isArray(given.keys)) published = given.keys;
  if (path === '/job') jobClaims = given;
  return {};
}

/** A body without an end, as fast as the client takes it. */
function written(response: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    response.write(' '.repeat(64 * 1024), (error) => (error ? reject(error) : setImmediate(resolve)));
  });
}

function discovery(): object {
  const named = mode === 'other issuer' ? 'https://other.example' : issuer();
  const keysAt = mode === 'keys over http' ? 'http://192.0.2.1/jwks' : `${issuer()}/jwks`;
  return { issuer: named, jwks_uri: keysAt };
}

/** As GitHub's: the audience is in the query, and the job has a bearer for it. */
async function idToken(
  { headers }: IncomingMessage,
  url: URL,
  send: (value: unknown, status?: number) => void,
): Promise<void> {
  if (headers.authorization !== 'Bearer of-the-job') return send({ message: 'no such job' }, 401);
  if (mode === 'no id tokens') return send({ message: 'down' }, 500);
  const aud = url.searchParams.get('audience') ?? 'https://github.com/acme';
  const { token } = await sign({ claims: { ...jobClaims, aud } });
  send({ count: 1, value: token });
}

interface Wanted {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly alg?: string;
}

/** With the newest key of that algorithm. A claim that is null is left out. */
async function sign({ claims = {}, header = {}, alg = 'RS256' }: Wanted): Promise<{ token: string }> {
  const key = keys.findLast(({ algorithms }) => algorithms.includes(alg));
  if (!key) throw new Error(`no key for ${alg}`);
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: issuer(), iat: now, nbf: now, exp: now + 300, jti: `token-${tokens++}`, ...claims };
  const payload = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
  const token = await new SignJWT(payload)
    .setProtectedHeader({ alg, typ: 'JWT', ...(key.jwk.kid && { kid: key.jwk.kid }), ...header })
    .sign(key.privateKey, { crit: { 'urn:test': true } });
  return { token };
}

/** New keys for all algorithms. The old ones stay published only if asked for. */
async function rotate({ keepsOld = false }: { readonly keepsOld?: boolean }): Promise<object> {
  const made = await makeKeys();
  keys = [...keys, ...made];
  published = (keepsOld ? keys : made).map(({ jwk }) => jwk);
  return { keys: published };
}

function issuer(): string {
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

await rotate({});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => process.stdout.write(`${issuer()}\n`));
