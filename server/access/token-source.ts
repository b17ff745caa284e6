// TokenSource: the identities of a tokens file, which it follows while the server runs.
//
// Guarantees:
// - A version of the file is used whole or not at all. If the new one cannot be read or is not valid, or the
//   file is gone, the old one stays, and the log says so once.
// - A change of the file counts after `pollMs` at the latest. fs.watch usually reports it sooner, but network
//   and overlay file systems do not notify.
// - A token is looked up by its SHA-256, so the time of a lookup tells nothing about other tokens.
import { type BigIntStats, type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AssayError, isSystemError, messageOf } from '../../core/errors.ts';
import { throwUnlessRegular } from '../../system/files/regular-file.ts';
import { ACCESS } from '../limits.ts';
import { type Identity, type IdentitySource, nextVersion } from './identity.ts';
import { identityOf, readTokens, stateOf, type TokenEntry, tokenHash } from './tokens-file.ts';

export interface TokenSourceOptions {
  readonly file: string;
  readonly log: Logger;
  readonly now?: () => number;
  readonly pollMs?: number;
}

interface KnownToken {
  readonly entry: TokenEntry;
  readonly identity: Identity;
}

export class TokenSource implements IdentitySource {
  readonly file: string;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #pollMs: number;
  #known: ReadonlyMap<string, KnownToken>;
  /** The version of the file that was read last, also if it was refused. */
  #fileVersion: string;
  /** Of `#known`. */
  #version = nextVersion();

  /** Throws ASSAY_TOKENS_FILE if there is no valid file. */
  constructor({ file, log, now = Date.now, pollMs = ACCESS.tokensPollMs }: TokenSourceOptions) {
    this.file = file;
    this.#log = log;
    this.#now = now;
    this.#pollMs = pollMs;
    this.#fileVersion = versionOf(file);
    this.#known = load(file);
  }

  identify(token: string): Identity | undefined {
    return this.identifyHash(tokenHash(token));
  }

  identifyHash(sha256: string): Identity | undefined {
    const found = this.#known.get(sha256);
    return found && stateOf(found.entry, this.#now()) === 'valid' ? found.identity : undefined;
  }

  get version(): number {
    return this.#version;
  }

  listed(): readonly Identity[] {
    return [...this.#known.values()].map(({ identity }) => identity);
  }

  /** Reads the file if it has changed. */
  reload(): void {
    const version = versionOf(this.file);
    if (version === this.#fileVersion) return;
    // The version is older than the content, so a change during the read is seen the next time.
    this.#fileVersion = version;
    try {
      throwUnlessRegular('ASSAY_TOKENS_FILE', this.file);
      this.#known = load(this.file);
      this.#version = nextVersion();
      this.#log.info({ file: this.file, tokens: this.#known.size }, 'reloaded the tokens');
    } catch (error) {
      const { code, detail } = asAssayError(error);
      this.#log.warn(
        { code, why: detail },
        'cannot use the new tokens file; the server keeps the old tokens',
      );
    }
  }

  async keepFollowing(signal: AbortSignal): Promise<void> {
    const watcher = this.#watch();
    while (await isStillWanted(this.#pollMs, signal)) this.reload();
    watcher?.close();
  }

  /** Undefined where the system has no more watches. The poll finds changes then. */
  #watch(): FSWatcher | undefined {
    const name = basename(this.file);
    try {
      const watcher = watch(dirname(this.file), { persistent: false }, (_, changed) => {
        if (changed === null || changed === name) this.reload();
      });
      return watcher.on('error', () => watcher.close());
    } catch (error) {
      this.#log.info({ file: this.file, why: messageOf(error) }, 'cannot watch the tokens file; polling it');
      return undefined;
    }
  }
}

function load(file: string): ReadonlyMap<string, KnownToken> {
  const entries = readTokens(file);
  if (!entries) throw new AssayError('ASSAY_TOKENS_FILE', `${file}: there is no such file`);
  return new Map(
    entries
      .filter(({ revokedAt }) => revokedAt === undefined)
      .map((entry) => [entry.sha256, { entry, identity: identityOf(entry) }]),
  );
}

/** A text that changes whenever the file is replaced, changed, removed or made unreadable. */
function versionOf(file: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs }: BigIntStats = statSync(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch (error) {
    return isSystemError(error, 'ENOENT') ? 'missing' : messageOf(error);
  }
}

function asAssayError(error: unknown): AssayError {
  return error instanceof AssayError ? error : new AssayError('ASSAY_INTERNAL', messageOf(error));
}

async function isStillWanted(pauseMs: number, signal: AbortSignal): Promise<boolean> {
  await pause(pauseMs, undefined, { signal, ref: false }).catch(() => {});
  return !signal.aborted;
}
