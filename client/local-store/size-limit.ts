// How much the local store may hold: ASSAY_MAX_SIZE, else a bounded part of the disk.
import { STORE } from '../../store/limits.ts';
import { parseSizeLimit, type SizeLimit } from '../../store/size-limit.ts';

export function localLimit(text: string | undefined): SizeLimit {
  if (text) return parseSizeLimit('ASSAY_MAX_SIZE', text);
  return { bytes: STORE.clientBytes, share: STORE.clientShare };
}
