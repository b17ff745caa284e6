// What both commands tell a person.
import { bytes, counted } from '../../core/text/amounts.ts';
import type { CopyProgress } from '../../store/migration/copy.ts';
import type { Manifest } from './manifest.ts';

interface Figures {
  readonly blobs: number;
  readonly bytes: number;
  readonly results: number;
  /** Blobs that the source could not give: evicted meanwhile, or damaged. */
  readonly unreadable: number;
  /** Blobs that the target returned with other bytes. */
  readonly damaged: number;
}

export function copyText(name: string, { doing, share, copied }: CopyProgress): string {
  const done = doing === 'blobs' ? `${Math.floor(100 * share)} % of the blobs` : doing;
  return `${name}, ${done}: copied ${counted(copied.blobs, 'blob')}, ${bytes(copied.bytes)}, ${counted(copied.results, 'result')}`;
}

export function backupText(folder: string, manifest: Manifest, figures: Figures): string {
  const { hasAuthKey, hasTokens, startedAt } = manifest;
  return [
    `${folder} has the store as it was at ${startedAt}: ${holding(figures)}.`,
    ...(figures.unreadable === 0
      ? []
      : [`${counted(figures.unreadable, 'blob')} of the store were evicted meanwhile, or are damaged.`]),
    'Every blob was read again and matches its SHA-256. Every result has all its blobs.',
    `The key that signs short tokens is ${hasAuthKey ? 'in it: keep it secret' : 'not in it (--auth-key)'}.`,
    `A tokens file is ${hasTokens ? 'in it: keep it secret' : 'not in it (--tokens FILE)'}.`,
  ].join('\n');
}

export function damagedText(folder: string, { damaged }: Figures): string {
  return [
    `${folder} returned other bytes than were written, for ${counted(damaged, 'blob')}. The backup is not finished.`,
    'Repeat the command: it copies them again. If that repeats, the disk is broken.',
  ].join('\n');
}

export function restoreText(
  store: string,
  manifest: Manifest,
  figures: Figures,
  tokens: string | undefined,
): string {
  return [
    `${store} has the store as it was at ${manifest.startedAt}: ${holding(figures)}.`,
    figures.unreadable === 0
      ? 'Every blob matched its SHA-256.'
      : `${counted(figures.unreadable, 'blob')} of the backup are damaged: they, and results that name them, are misses.`,
    manifest.hasAuthKey
      ? 'Short tokens and logins of before go on, if they have not ended.'
      : 'Short tokens and logins of before have ended.',
    tokensText(manifest, tokens),
  ].join('\n');
}

function tokensText({ hasTokens }: Manifest, tokens: string | undefined): string {
  if (tokens !== undefined) return `The tokens are in ${tokens}.`;
  return hasTokens
    ? 'The backup has a tokens file, which was not restored (--tokens FILE).'
    : 'The backup has no tokens file.';
}

function holding(figures: Figures): string {
  return `${counted(figures.blobs, 'blob')} (${bytes(figures.bytes)}) and ${counted(figures.results, 'result')}`;
}
