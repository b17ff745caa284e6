// The Accept-Encoding header (RFC 9110, 12.5.3), as far as it concerns the one coding that this server knows.

/** True when zstd is named, not with q=0, and liked no less than the bytes as they are. */
export function acceptsZstd(header: string | string[] | undefined): boolean {
  if (header === undefined) return false;
  const weights = new Map(String(header).split(',').map(weighed));
  const zstd = weights.get('zstd') ?? 0;
  return zstd > 0 && zstd >= (weights.get('identity') ?? 0);
}

function weighed(item: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
  const [, weight] = parameters.map((text) => /^q=([\d.]+)$/.exec(text)).find(Boolean) ?? [];
  return [coding, Number(weight ?? 1)];
}
