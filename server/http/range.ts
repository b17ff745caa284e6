// The Range header of a download: one span of bytes, or nothing that this server honours. Several ranges, other units
// and malformed values are ignored, which RFC 9110 allows: the answer is then the whole.

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

const ONE_RANGE = /^bytes=(\d*)-(\d*)$/;

/** 'beyond': it is well-formed, but no byte of it exists. */
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
