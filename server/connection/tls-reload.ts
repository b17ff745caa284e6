// Certificates are renewed by others, who replace the files and tell nobody: a running server looks at them again and again.
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../core/errors.ts';
import { loadTlsIdentity, type TlsFiles, type TlsIdentity } from './tls.ts';

export interface TlsReload {
  readonly files: TlsFiles;
  /** What the server has shown since it began. */
  readonly shown: TlsIdentity;
  readonly log: Logger;
  readonly pauseMs: number;
  /** From here on it shows this one. */
  setTlsIdentity(identity: TlsIdentity): void;
}

/** What can't be read, or does not fit together yet, is tried again; until then the old one is shown. */
export async function keepReloadingTls(
  { files, shown: first, setTlsIdentity, log, pauseMs }: TlsReload,
  signal: AbortSignal,
): Promise<void> {
  let shown = first;
  while (await isStillWanted(pauseMs, signal)) {
    try {
      const found = loadTlsIdentity(files);
      if (isSame(found, shown)) continue;
      setTlsIdentity(found);
      shown = found;
      log.info({ cert: files.cert }, 'the certificate was renewed');
    } catch (error) {
      log.warn(
        { cert: files.cert, why: messageOf(error) },
        'the renewed certificate can’t be used, the old one is kept',
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
