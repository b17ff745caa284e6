// Bun's own functions that Assay uses. Bun runs the executable; Node runs everything else.

interface BunRuntime {
  readonly SHA256: { hash(bytes: Uint8Array, encoding: 'hex'): string };
  readonly hash: { xxHash64(bytes: Uint8Array): bigint };
  readonly embeddedFiles: readonly { readonly name: string }[];
  readonly unsafe: { setJITPolicy(reluctance: number): void };
  gc(isForced: boolean): void;
}

declare global {
  var Bun: BunRuntime | undefined;
}

/** Undefined on Node. */
export const bun = globalThis.Bun;

/**
 * Makes Bun compile to machine code at once. By default the executable compiles late, because most runs end
 * before compiling pays (docs/MEASUREMENTS.md#0197).
 */
export function expectLongRun(): void {
  bun?.unsafe.setJITPolicy(1);
}

/** Bun collects buffers late: a process that reads a gigabyte in pieces keeps hundreds of megabytes of them. Node counts them. */
export function freeBuffers(): void {
  bun?.gc(true);
}
