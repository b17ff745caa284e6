// The size of a test that has a full size. `npm test` runs the usual size; `npm run test:soak`
// (ASSAY_SOAK=20) runs the full one. A factor in between runs that many twentieths.
const { ASSAY_SOAK } = process.env;

/** The usual size is a twentieth, where the test names no other. */
export function soak(full: number, usual = full / 20): number {
  const asked = ASSAY_SOAK === undefined ? usual : Math.max(usual, (full * Number(ASSAY_SOAK)) / 20);
  return Math.max(1, Math.round(asked));
}

/** All ways of a case in a soak. The usual run tries one of them, another one for the next case. */
export function waysOf<Way>(ways: readonly Way[], at: number): readonly Way[] {
  return ways.filter((_, way) => ASSAY_SOAK !== undefined || way === at % ways.length);
}
