// Numbers and sizes as a person reads them. Every number has its unit.

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** "1 run", "12,345 runs". */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${count(value)} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const power = Math.min(Math.floor(Math.log2(value) / 10), units.length);
  const scaled = value / 1024 ** power;
  return `${scaled.toFixed(scaled < 100 ? 1 : 0)} ${units[power - 1]}`;
}
