// How much a store may hold: a number of bytes, a share of its disk, or the smaller of both.
import { statfsSync } from 'node:fs';
import { usage } from '../core/cli/command.ts';

export interface SizeLimit {
  readonly bytes?: number | undefined;
  /** From 0 to 1. */
  readonly share?: number | undefined;
}

export const UNLIMITED: SizeLimit = {};

/** Asks the disk each time, because volumes grow. */
export function bytesOfLimit({ bytes, share }: SizeLimit, folder: string): number {
  const most = bytes ?? Number.POSITIVE_INFINITY;
  return share === undefined ? most : Math.min(most, share * diskBytes(folder));
}

function diskBytes(folder: string): number {
  const { blocks, bsize } = statfsSync(folder);
  return blocks * bsize;
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
};

/** `50GB`, `8GiB`, `1000000` or `80%`. */
export function parseSizeLimit(flag: string, text: string): SizeLimit {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?) ?([A-Za-z]*|%)$/.exec(text) ?? [];
  const amount = Number(number);
  if (number !== '' && unit === '%' && amount > 0 && amount <= 100) return { share: amount / 100 };
  const bytes = Math.floor(amount * (UNITS[unit.toUpperCase()] ?? Number.NaN));
  if (number !== '' && Number.isSafeInteger(bytes) && bytes > 0) return { bytes };
  throw usage(
    `${flag} takes a size such as 50GB or 8GiB, or a share of the disk such as 80%, not ${JSON.stringify(text)}`,
  );
}
