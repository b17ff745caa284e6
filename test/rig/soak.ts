// How large a test that has a full size is made: by default a twentieth of it. ASSAY_SOAK=20 is the full size.
export function soak(full: number): number {
  return Math.max(1, Math.round((full * Number(process.env.ASSAY_SOAK ?? 1)) / 20));
}
