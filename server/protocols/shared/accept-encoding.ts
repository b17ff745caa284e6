// Parses Accept-Encoding (RFC 9110, 12.5.3) for zstd, the only coding that this server sends.

/** True if the header lists zstd with a weight above 0 and not below the weight of identity. */
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
