// What gives credentials to a workload, on loopback: a token service, the metadata of an instance, and a container's
// agent. It gives what it is told to, and records what it is asked. A stand-in: the real ones are at AWS.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PlatformKeys {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly sessionToken: string;
}

export type PlatformMode = 'well' | 'fails' | 'refuses' | 'hangs' | 'garbage';

const SESSION = 'session-of-the-instance';

export class Platform {
  readonly #server: Server;
  keys: PlatformKeys;
  mode: PlatformMode = 'well';
  /** How long the credentials that it gives are valid. */
  validMs = 60 * 60 * 1000;
  /** How far its clock is ahead of this machine's. */
  aheadMs = 0;
  /** Method, path, and the header or form field that proves who asks. */
  readonly asked: string[] = [];

  static async start(keys: PlatformKeys): Promise<Platform> {
    const platform = new Platform(keys);
    platform.#server.listen(0, '127.0.0.1');
    await once(platform.#server, 'listening');
    return platform;
  }

  private constructor(keys: PlatformKeys) {
    this.keys = keys;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url: path = '', headers } = request;
    const form = new URLSearchParams(Buffer.concat(await Array.fromAsync(request)).toString());
    const proof =
      headers['x-aws-ec2-metadata-token'] ?? headers.authorization ?? form.get('WebIdentityToken');
    this.asked.push(`${method} ${path} ${proof ?? ''}`.trim());
    if (this.mode === 'hangs') return;
    response.setHeader('date', new Date(Date.now() + this.aheadMs).toUTCString());
    if (this.mode === 'fails') return void response.writeHead(503).end('<Code>ServiceUnavailable</Code>');
    if (this.mode === 'refuses')
      return void response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
    if (this.mode === 'garbage') return void response.end(`not what was asked for: ${this.keys.secretKey}`);
    if (method === 'PUT' && path === '/latest/api/token') return void response.end(SESSION);
    if (path.startsWith('/latest/') && proof !== SESSION) return void response.writeHead(401).end();
    if (path.endsWith('/iam/security-credentials/')) return void response.end('cache-role\n');
    response.end(form.get('Action') === 'AssumeRoleWithWebIdentity' ? this.#xml() : this.#json());
  }

  get #expiration(): string {
    return new Date(Date.now() + this.aheadMs + this.validMs).toISOString();
  }

  #json(): string {
    const { accessKey, secretKey, sessionToken } = this.keys;
    const keys = { AccessKeyId: accessKey, SecretAccessKey: secretKey, Token: sessionToken };
    return JSON.stringify({ Code: 'Success', ...keys, Expiration: this.#expiration });
  }

  #xml(): string {
    const { accessKey, secretKey, sessionToken } = this.keys;
    return `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
      <AccessKeyId>${accessKey}</AccessKeyId><SecretAccessKey>${secretKey}</SecretAccessKey>
      <SessionToken>${sessionToken}</SessionToken><Expiration>${this.#expiration}</Expiration>
      </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
  }
}
