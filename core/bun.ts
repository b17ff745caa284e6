// Bun, which runs the executable: all that Assay uses of it that Node does not have.

interface BunRuntime {
  readonly SHA256: { hash(bytes: Uint8Array, encoding: 'hex'): string };
  readonly hash: { xxHash64(bytes: Uint8Array): bigint };
  readonly embeddedFiles: readonly { readonly name: string }[];
  readonly unsafe: { setJITPolicy(reluctance: number): void };
}

declare global {
  var Bun: BunRuntime | undefined;
}

/** Undefined on Node. */
export const bun = globalThis.Bun;

/** The executable compiles to machine code late, for runs that are over before it pays (docs/MEASUREMENTS.md#0197). */
export function expectLongRun(): void {
  bun?.unsafe.setJITPolicy(1);
}
