// Reloads the TLS certificate from its files while the server runs.
// Guarantee: the server keeps the old certificate until a new one has been read and its parts match.
//
// Tools such as certbot replace the files and do not notify the server, so it compares them periodically.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../core/errors.ts';
import { throwUnlessRegular } from '../../system/files/regular-file.ts';
import { loadTlsIdentity, type TlsFiles, type TlsIdentity } from './tls.ts';

interface TlsReload {
  readonly files: TlsFiles;
  /** The identity that the server uses at the start. */
  readonly shown: TlsIdentity;
  readonly log: Logger;
  readonly pauseMs: number;
  /** Uses this identity for new handshakes. */
  setTlsIdentity(identity: TlsIdentity): void;
}

/** Files that cannot be read, or do not match each other yet, are tried again at the next check. */
export async function keepReloadingTls(
  { files, shown: first, setTlsIdentity, log, pauseMs }: TlsReload,
  signal: AbortSignal,
): Promise<void> {
  let shown = first;
  while (await isStillWanted(pauseMs, signal)) {
    try {
      throwUnlessRegular('ASSAY_BAD_CERTIFICATE', files.cert, files.key, files.clientCa);
      const found = loadTlsIdentity(files);
      if (isSame(found, shown)) continue;
      setTlsIdentity(found);
      shown = found;
      log.info({ cert: files.cert }, 'reloaded the TLS certificate');
    } catch (error) {
      log.warn(
        { cert: files.cert, why: messageOf(error) },
        'cannot use the new TLS certificate; the server keeps the old one',
      );
    }
  }
}

async function isStillWanted(pauseMs: number, signal: AbortSignal): Promise<boolean> {
  await pause(pauseMs, undefined, { signal, ref: false }).catch(() => {});
  return !signal.aborted;
}

function isSame(a: TlsIdentity, b: TlsIdentity): boolean {
  return (['cert', 'key', 'ca'] as const).every((part) => String(a[part]) === String(b[part]));
}
