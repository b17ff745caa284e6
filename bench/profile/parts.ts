// Which part of the work a sample belongs to, by the file and the name of its function.
import type { Sample } from './samples.ts';

/** What one version spent on a request, or on a step. */
export interface Profile {
  readonly cpuMs: number;
  /** In percent, by part. */
  readonly shares: ReadonlyMap<string, number>;
}

interface Rule {
  readonly part: string;
  readonly file?: RegExp;
  readonly symbol?: RegExp;
}

/** The first that matches names the part. */
const RULES: readonly Rule[] = [
  { part: 'kernel: copies', file: /kernel/, symbol: /copy_(to|from)_user|memcpy|copy_page$|clear_page/ },
  {
    part: 'kernel: new processes',
    file: /kernel/,
    symbol: /copy_p.._range|copy_present|dup_m|fork|clone|exec|zap_|free_pgtable|unmap|exit_m/,
  },
  {
    part: 'kernel: sockets',
    file: /kernel/,
    symbol: /tcp|sock|skb|inet|\bip_|__ip_|net_|ep_|epoll|\bsk_|__sk_|loopback/,
  },
  {
    part: 'kernel: files and disk',
    file: /kernel/,
    symbol: /ext4|jbd2|blk|bio|filemap|writeback|folio|iov_iter|virt|fsync|dentry|inode|path|lookup|d_/,
  },
  { part: 'kernel: the rest', file: /kernel/ },
  { part: 'SHA-256', symbol: /sha256/i },
  { part: 'LMDB', file: /lmdb|glibc\.node/ },
  { part: 'LMDB', symbol: /node_modules\/lmdb/ },
  { part: 'malloc', file: /libc\./, symbol: /malloc|free|_int_|calloc|realloc|arena/ },
  {
    part: 'garbage collection',
    symbol:
      /Scaveng|Marking|MarkCompact|Sweep|Evacuat|Heap::|GlobalHandles|ObjectVisitor|BodyDescriptor|Collector/,
  },
  {
    part: 'V8: compilers',
    symbol:
      /turboshaft|maglev|compiler::|Compiler|baseline::|interpreter::Bytecode|Parser|Scanner|RegisterAllocat/,
  },
  { part: 'fastify and other packages', symbol: /JS:.*node_modules/ },
  { part: "Node's JavaScript", symbol: /JS:.*node:/ },
  { part: "Assay's server/", symbol: /JS:.*\/server\// },
  { part: "Assay's store/ and core/", symbol: /JS:.*\/(store|core)\// },
  { part: "Assay's client/ and hermeticity/", symbol: /JS:.*\/(client|hermeticity)\// },
  { part: 'V8: built-ins and interpreter', symbol: /Builtins_|Builtin:|BytecodeHandler|RegExp:|Stub:|JS:/ },
  { part: "Node's C++, libuv, llhttp", symbol: /node::|uv_|llhttp|napi/ },
];
const REST = 'the rest (V8, libc)';

export const PARTS: readonly string[] = [...new Set(RULES.map(({ part }) => part)), REST];

export function partOf({ file, symbol }: Sample): string {
  const rule = RULES.find((one) => (one.file?.test(file) ?? true) && (one.symbol?.test(symbol) ?? true));
  return rule?.part ?? REST;
}

/** The share of each part, in percent. */
export function sharesOf(
  samples: readonly Sample[],
  nameOf: (sample: Sample) => string = partOf,
): Map<string, number> {
  const all = samples.reduce((sum, { count }) => sum + count, 0);
  const shares = new Map<string, number>();
  for (const sample of samples) {
    const part = nameOf(sample);
    shares.set(part, (shares.get(part) ?? 0) + (sample.count / all) * 100);
  }
  return shares;
}
