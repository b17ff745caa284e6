// Parses the Range header of a download.
// Only a single range of bytes counts. RFC 9110 allows a server to ignore several ranges, other units and
// malformed values: the response is then the whole blob.

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

const ONE_RANGE = /^bytes=(\d*)-(\d*)$/;

/** 'unsatisfiable': the range is well-formed but contains no byte of the blob. */
export function parseRange(
  header: string | undefined,
  size: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = header === undefined ? [] : (ONE_RANGE.exec(header) ?? []);
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') return suffix(Number(last), size);
  const offset = Number(first);
  if (last !== '' && Number(last) < offset) return undefined;
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  return offset >= size ? 'unsatisfiable' : { offset, length: end - offset };
}

function suffix(wanted: number, size: number): ByteRange | 'unsatisfiable' {
  const length = Math.min(wanted, size);
  return length === 0 ? 'unsatisfiable' : { offset: size - length, length };
}
