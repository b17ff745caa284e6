// Kernel files that runtimes read for themselves, whatever the program does: to size heaps and thread pools. They are
// neither findings nor facts, because then nearly every result would depend on the memory and the processors of a machine.
// docs/HERMETICITY.md says that they are not observed, and what finds a dependence on them.
// docs/decisions/0271-facts-about-the-system.md has the measurements.
import type { Access, PathAccess } from '../trace/access.ts';

/** How often a process reads such a file: the one that it reads most often. */
type Reads = (file: RegExp) => number;

export interface StartUpRead {
  /** Undefined: every program except CONTENT_TOOLS. */
  readonly program?: RegExp;
  /** The names of the kernel files (kernel-files.ts). */
  readonly files: RegExp;
  /** How many times a process of the program reads each file. `reads`: how often it reads another one. */
  readonly times?: number | ((reads: Reads) => number);
  /** The process reads each file before this one for the first time. A script comes later. */
  readonly before?: string;
  /** Only if the action read such a file. */
  readonly besides?: RegExp;
}

/** How many processors and memory nodes there are: C libraries and allocators look here. */
const PROCESSORS =
  /^\/sys\/devices\/system\/(?:cpu(?:\/(?:online|possible|present))?|node(?:\/(?:node\d+|online|possible))?)$/;

/** The limits of the control group. Go, Rust, Java and libuv size their thread pools and heaps by them. */
const LIMITS = /^\/proc\/(?:cgroups|self\/(?:cgroup|mountinfo))$|^\/sys\/fs\/cgroup(?:\/|$)/;

const CGROUP = /^\/proc\/self\/cgroup$/;
const MEMORY = /^\/proc\/meminfo$/;
const MEMORY_LIMIT = /^\/sys\/fs\/cgroup\/(?:.*\/)?memory\.[^/]+$/;
const CPU_LIMIT = /^\/sys\/fs\/cgroup\/(?:.*\/)?cpu\.[^/]+$/;

/** How an allocator may get memory. */
const ALLOCATION =
  /^\/sys\/kernel\/mm\/(?:transparent_)?hugepages?(?:\/|$)|^\/proc\/sys\/vm\/overcommit_memory$/;

/** libselinux looks here in every program that is linked with it. */
const SELINUX = /^\/proc\/(?:filesystems|self\/mounts)$/;

/** Programs that run scripts of their users, or read a file for its content. Without the version at the end. */
const CONTENT_TOOLS: ReadonlySet<string> = new Set(
  `ash awk b2sum base64 bash bun busybox cat cksum cmp comm cp csh cut dash dd deno diff ed egrep expr fgrep find fish free gawk
  getconf grep gzip head hexdump hostname install jq ksh ls lscpu lsmem lua m4 mawk md5sum more nawk nl node nodejs nproc numactl od paste perl php
  pr ps python rev rg rsync ruby sed sh sha1sum sha256sum sha512sum sort split stat strings sysctl tac tail tar tclsh tee
  tr uname uniq wc xargs xxd xz zsh zstd`.split(/\s+/),
);

const NODE = /^node(?:js)?$/;
const JAVASCRIPT = /^(?:node|nodejs|bun|deno)$/;
const ADDON = /\.node$/;
const JAVA = /^(?:java\w*|jar|jdeps|jlink|jmod|jshell|keytool)$/;

export const START_UP_READS: readonly StartUpRead[] = [
  { files: LIMITS },
  { files: ALLOCATION },
  { files: PROCESSORS },
  { files: SELINUX, times: 1 },
  { program: /^(?:cp|find|install|ls|ps|rsync|sed|stat|tar)$/, files: SELINUX, times: 1 },
  /* libuv finds its limits by this file: when V8 makes a heap, and in os.availableParallelism(). */
  { program: JAVASCRIPT, files: CGROUP },
  /* V8 looks at the limits, then at the memory, when it makes a heap. os.totalmem() looks at the second alone. */
  { program: NODE, files: MEMORY_LIMIT, times: (reads) => reads(MEMORY), before: '/proc/meminfo' },
  { program: JAVASCRIPT, files: MEMORY, times: (reads) => Math.max(1, reads(MEMORY_LIMIT)) },
  /* os.availableParallelism() looks at these, after CGROUP. A script that reads one itself reads it once more. */
  { program: NODE, files: CPU_LIMIT, times: (reads) => reads(CGROUP) - reads(MEMORY) },
  { program: JAVASCRIPT, files: /^\/sys\/devices\/system\/cpu\/online$/, times: (reads) => reads(CGROUP) },
  /* libuv looks for kernels of Ubuntu. */
  { program: JAVASCRIPT, files: /^\/proc\/version_signature$/, times: 1 },
  /* The package is-wsl, which vite and others contain, looks for kernels of Windows. */
  {
    program: JAVASCRIPT,
    files: /^\/proc\/version$/,
    times: 1,
    besides: /\/node_modules\/(?:is-wsl|open|vite|vitest)\//,
  },
  /* glibc reads it when it first gives memory of a thread back. */
  { program: JAVASCRIPT, files: /^\/proc\/sys\/vm\/overcommit_memory$/, times: 1 },
  /* What allocators and thread pools read: of native addons, and of Bun and Deno themselves. */
  ...[{ program: NODE, besides: ADDON }, { program: /^(?:bun|deno)$/ }].flatMap((by) => [
    { ...by, files: LIMITS, times: (reads: Reads) => reads(CGROUP) },
    { ...by, files: ALLOCATION, times: 1 },
    { ...by, files: PROCESSORS, times: 1 },
  ]),
  /* os.cpus() reads the clock rates, too. Its other files are facts. */
  { program: JAVASCRIPT, files: /^\/sys\/devices\/system\/cpu\/cpu\d+\/cpufreq\// },
  /* Rust's num_cpus counts cores, in native addons such as rolldown's. */
  { program: JAVASCRIPT, files: /^\/proc\/cpuinfo$/, times: 1, besides: ADDON },
  /* Gradle watches the free memory. */
  { program: JAVA, files: /^\/proc\/meminfo$/ },
  {
    program: JAVA,
    files:
      /^\/proc\/(?:cpuinfo|stat|self\/net\/(?:if_inet6|ipv6_route))$|^\/sys\/(?:devices\/virtual\/dmi\/id\/product_name|hypervisor\/type)$/,
    times: 1,
  },
  /* C libraries before glibc 2.34 answer sysconf(_SC_PHYS_PAGES) from it. */
  { program: /^(?:cc1(?:obj|plus)?|f951|lto1|sort)$/, files: /^\/proc\/meminfo$/, times: 1 },
  { program: /^(?:g?make|ninja|samu)$/, files: /^\/proc\/loadavg$/ },
];

export class StartUpReads {
  readonly #known: readonly StartUpRead[];
  readonly #accesses: readonly Access[];
  readonly #nameOf: (access: PathAccess) => string | undefined;
  #found: ReadonlyMap<number, ReadonlyMap<string, readonly number[]>> | undefined;

  /** `nameOf`: the name of a kernel file. */
  constructor(
    known: readonly StartUpRead[],
    accesses: readonly Access[],
    nameOf: (access: PathAccess) => string | undefined,
  ) {
    this.#known = known;
    this.#accesses = accesses;
    this.#nameOf = nameOf;
  }

  /** Whether the runtime of this program reads the file for itself, at its start. */
  isOfStart({ process }: PathAccess, program: string, name: string): boolean {
    return this.#known.some((one) => {
      if (!isBy(one, program) || !one.files.test(name)) return false;
      const { times, before, besides } = one;
      const most = typeof times === 'function' ? times((file) => this.#most(process, file)) : times;
      const isOften = most !== undefined && this.#readings(process, name).length > most;
      const isLate = before !== undefined && this.#first(process, before) < this.#first(process, name);
      return !isOften && !isLate && (!besides || this.#wasRead(besides));
    });
  }

  #wasRead(file: RegExp): boolean {
    return this.#accesses.some((access) => access.kind === 'read' && file.test(access.path));
  }

  #most(process: number, file: RegExp): number {
    const names = [...(this.#reads().get(process)?.keys() ?? [])].filter((name) => file.test(name));
    return Math.max(0, ...names.map((name) => this.#readings(process, name).length));
  }

  #first(process: number, name: string): number {
    return this.#readings(process, name)[0] ?? Number.POSITIVE_INFINITY;
  }

  /** The positions of the accesses by which a process reads a file. */
  #readings(process: number, name: string): readonly number[] {
    return this.#reads().get(process)?.get(name) ?? [];
  }

  #reads(): ReadonlyMap<number, ReadonlyMap<string, readonly number[]>> {
    this.#found ??= this.#find();
    return this.#found;
  }

  #find(): ReadonlyMap<number, ReadonlyMap<string, readonly number[]>> {
    const found = new Map<number, Map<string, number[]>>();
    for (const [at, access] of this.#accesses.entries()) {
      const name = access.kind === 'read' && isKernel(access.path) ? this.#nameOf(access) : undefined;
      if (name === undefined) continue;
      const files = found.get(access.process) ?? new Map<string, number[]>();
      found.set(access.process, files.set(name, [...(files.get(name) ?? []), at]));
    }
    return found;
  }
}

function isKernel(path: string): boolean {
  return path.startsWith('/proc/') || path.startsWith('/sys/');
}

function isBy({ program: pattern }: StartUpRead, program: string): boolean {
  return pattern ? pattern.test(program) : !CONTENT_TOOLS.has(program.replace(/[\d.]+$/, ''));
}
