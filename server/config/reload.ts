// The reload of the configuration, on SIGHUP.
// Guarantee: new settings take effect whole, or the old ones stay and one line of the log says why.
import type { Logger } from 'pino';
import { AssayError, messageOf } from '../../core/errors.ts';
import { throwUnlessRegular } from '../../system/files/regular-file.ts';
import { type AccessSources, hasIdentities } from './access.ts';
import { PULL_REQUESTS_ACCOUNT } from './accounts.ts';
import type { Settings } from './settings.ts';

interface Reload {
  /** With which the server runs. */
  readonly settings: Settings;
  readonly configFile: string | undefined;
  /** Reads them again. */
  readonly read: () => Settings;
  readonly access: AccessSources | undefined;
  readonly log: Logger;
}

/** A function that reloads. */
export function reloader({ settings, configFile, read, access, log }: Reload): () => void {
  return () => {
    try {
      throwUnlessRegular('ASSAY_SERVER_CONFIG', configFile);
      const next = read();
      refuseRestart(settings, next);
      throwUnlessRegular('ASSAY_TOKENS_FILE', next.tokensFile);
      access?.prepare(next)();
      log.level = next.logLevel;
      log.info('reloaded the configuration');
      const uncounted = placesOf(next).filter((place) => !placesOf(settings).includes(place));
      if (uncounted.length > 0)
        log.warn({ namespaces: uncounted }, 'these pull requests count for no quota before a restart');
    } catch (error) {
      const { code, detail } =
        error instanceof AssayError ? error : new AssayError('ASSAY_INTERNAL', messageOf(error));
      log.error({ code, why: detail }, 'refused the new configuration; the server keeps the old one');
    }
  };
}

/** Where pull requests write that have no quota of their own. */
function placesOf({ accounts }: Settings): readonly string[] {
  return accounts.find(({ name }) => name === PULL_REQUESTS_ACCOUNT)?.namespaces ?? [];
}

/** What a running server cannot change, by the names of the fields. */
function fixedParts(settings: Settings): Readonly<Record<string, unknown>> {
  const { host, port, tls, storeFolder, maxSize, leaseMs, maxBlobBytes, scrubBytesPerSecond } = settings;
  const accounts = settings.accounts.filter(({ name }) => name !== PULL_REQUESTS_ACCOUNT);
  return {
    listen: [host, port],
    tls,
    store: [storeFolder, maxSize, accounts, leaseMs, maxBlobBytes, scrubBytesPerSecond],
    readOnly: settings.readOnly,
    'the first of tokens, anonymous and issuers': hasIdentities(settings),
  };
}

function refuseRestart(current: Settings, next: Settings): void {
  const [before, after] = [fixedParts(current), fixedParts(next)];
  const changed = Object.keys(before).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  if (changed.length > 0)
    throw new AssayError('ASSAY_SERVER_CONFIG', `needs a restart to change: ${changed.join(', ')}`);
}
