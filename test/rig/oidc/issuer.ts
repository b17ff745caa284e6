// An issuer of OpenID Connect as a process of its own, with its own keys. It can rotate them, misbehave, stop
// and start again on the same port.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { request } from 'undici';
import { onTestFinished } from 'vitest';

const PROGRAM = join(import.meta.dirname, 'issuer-process.ts');

export interface Wanted {
  /** A claim that is null is left out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly alg?: 'RS256' | 'PS256' | 'ES256' | 'EdDSA';
}

export type Mode =
  | 'well'
  | 'silent'
  | 'fails'
  | 'redirects'
  | 'endless'
  | 'other issuer'
  | 'keys over http'
  | 'no id tokens';

export class OidcIssuer {
  readonly url: string;
  #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Ends when the test is finished. */
  static async start(port = 0): Promise<OidcIssuer> {
    const child = spawn(process.execPath, [PROGRAM, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = await once(child.stdout, 'data');
    const issuer = new OidcIssuer(child, String(said).trim());
    onTestFinished(() => issuer.stop());
    return issuer;
  }

  async sign(wanted: Wanted): Promise<string> {
    const { token } = Object(await this.#post('/sign', wanted));
    return String(token);
  }

  /** New keys. The old ones are withdrawn unless they are kept. */
  async rotate(how: { readonly keepsOld?: boolean } = {}): Promise<JWK[]> {
    return Object(await this.#post('/rotate', how)).keys;
  }

  async publish(keys: readonly object[]): Promise<void> {
    await this.#post('/publish', { keys });
  }

  async behave(mode: Mode): Promise<void> {
    await this.#post('/mode', { mode });
  }

  /** The claims of the tokens that a job gets at /id-token. */
  async setJob(claims: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#post('/job', claims);
  }

  async keys(): Promise<JWK[]> {
    const { body } = await request(`${this.url}/jwks`);
    return Object(await body.json()).keys;
  }

  /** How often somebody asked for the keys. */
  async fetches(): Promise<number> {
    const { body } = await request(`${this.url}/fetches`);
    return Number(await body.json());
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  async #post(path: string, value: object): Promise<unknown> {
    const { statusCode, body } = await request(this.url + path, {
      method: 'POST',
      body: JSON.stringify(value),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`the issuer answered ${statusCode}: ${text}`);
    return JSON.parse(text);
  }
}
