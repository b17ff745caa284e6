// The kinds of machine that a release is for, and the names that others have for them.

export interface Kind {
  /** As Node and npm name the architecture. */
  readonly arch: 'x64' | 'arm64';
  /** As Debian and container images name it. */
  readonly debian: 'amd64' | 'arm64';
  /** As compilers name the system: the prefix of a cross-compiler. */
  readonly triplet: string;
  /** `e_machine` in the head of a program of this kind. */
  readonly machine: number;
}

export const KINDS: readonly Kind[] = [
  { arch: 'x64', debian: 'amd64', triplet: 'x86_64-linux-gnu', machine: 62 },
  { arch: 'arm64', debian: 'arm64', triplet: 'aarch64-linux-gnu', machine: 183 },
];

export function kindOf(arch: string): Kind {
  const kind = KINDS.find((one) => one.arch === arch);
  if (!kind) throw new Error(`a release is for ${KINDS.map((one) => one.arch).join(' and ')}, not ${arch}`);
  return kind;
}

export function isOwn({ arch }: Kind): boolean {
  return arch === process.arch;
}
