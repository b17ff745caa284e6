// How the tables of the fleet benchmark print numbers.

export function milliseconds(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(2);
}

/** Three columns: the number, its bound, and whether it was reached. */
export function target(value: number, most: number, unit: string): [string, string, string] {
  return [value.toFixed(2), `${most} ${unit}`.trim(), value <= most ? 'reached' : 'NOT reached'];
}
