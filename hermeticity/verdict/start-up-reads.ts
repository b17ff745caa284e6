// Kernel files that runtimes read for themselves, whatever the program does: to size heaps and thread pools. They are
// neither findings nor facts, because then nearly every result would depend on the memory and the processors of a machine.
// docs/HERMETICITY.md says that they are not observed, and what finds a dependence on them.
// docs/decisions/0271-facts-about-the-system.md has the measurements.
import type { Access, PathAccess } from '../trace/access.ts';

export interface StartUpRead {
  /** Undefined: every program except CONTENT_TOOLS. */
  readonly program?: RegExp;
  /** The names of the kernel files (kernel-files.ts). */
  readonly files: RegExp;
  /** A process of the program reads each file this many times, or as often as it reads another file. */
  readonly times?: number | { readonly asOftenAs: string };
  /** Only if the action read such a file. */
  readonly besides?: RegExp;
}

/** How many processors and memory nodes there are: C libraries and allocators look here. */
const PROCESSORS =
  /^\/sys\/devices\/system\/(?:cpu(?:\/(?:online|possible|present))?|node(?:\/(?:node\d+|online|possible))?)$/;

/** The limits of the control group. Go, Rust, Java and libuv size their thread pools and heaps by them. */
const LIMITS = /^\/proc\/(?:cgroups|self\/(?:cgroup|mountinfo))$|^\/sys\/fs\/cgroup(?:\/|$)/;

/** How an allocator may get memory. */
const ALLOCATION =
  /^\/sys\/kernel\/mm\/(?:transparent_)?hugepages?(?:\/|$)|^\/proc\/sys\/vm\/overcommit_memory$/;

/** libselinux looks here in every program that is linked with it. */
const SELINUX = /^\/proc\/(?:filesystems|self\/mounts)$/;

/** Tools that read a file for its content, and interpreters, whose scripts may. Without the version at the end. */
const CONTENT_TOOLS: ReadonlySet<string> = new Set(
  `ash awk b2sum base64 bash busybox cat cksum cmp comm cp csh cut dash dd diff ed egrep expr fgrep find fish free gawk
  getconf grep gzip head hexdump hostname install jq ksh ls lscpu lsmem lua m4 mawk md5sum more nawk nl nproc numactl od paste perl php
  pr ps python rev rg rsync ruby sed sh sha1sum sha256sum sha512sum sort split stat strings sysctl tac tail tar tclsh tee
  tr uname uniq wc xargs xxd xz zsh zstd`.split(/\s+/),
);

const JAVASCRIPT = /^(?:node|nodejs|bun|deno)$/;
const JAVA = /^(?:java\w*|jar|jdeps|jlink|jmod|jshell|keytool)$/;

export const START_UP_READS: readonly StartUpRead[] = [
  { files: LIMITS },
  { files: ALLOCATION },
  { files: PROCESSORS },
  { program: /^(?:perl|php|python|ruby)[\d.]*$/, files: PROCESSORS },
  { files: SELINUX, times: 1 },
  { program: /^(?:cp|find|install|ls|ps|rsync|sed|stat|tar)$/, files: SELINUX, times: 1 },
  /* V8 looks at both when it makes a heap. os.totalmem() looks at the first alone. */
  { program: JAVASCRIPT, files: /^\/proc\/meminfo$/, times: { asOftenAs: '/proc/self/cgroup' } },
  /* libuv and the package is-wsl look for kernels of Ubuntu and Windows. */
  { program: JAVASCRIPT, files: /^\/proc\/version(?:_signature)?$/, times: 1 },
  /* os.cpus() reads the clock rates, too. Its other files are facts. */
  { program: JAVASCRIPT, files: /^\/sys\/devices\/system\/cpu\/cpu\d+\/cpufreq\// },
  /* Rust's num_cpus counts cores, in native addons such as rolldown's. */
  { program: JAVASCRIPT, files: /^\/proc\/cpuinfo$/, times: 1, besides: /\.node$/ },
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
  #counts: ReadonlyMap<string, number> | undefined;

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

  excuses({ process }: PathAccess, program: string, name: string): boolean {
    return this.#known.some((one) => {
      if (!isBy(one, program) || !one.files.test(name)) return false;
      const { times, besides } = one;
      const most = typeof times === 'object' ? this.#readings(process, times.asOftenAs) : times;
      const isOften = most !== undefined && this.#readings(process, name) > most;
      return !isOften && (!besides || this.#wasRead(besides));
    });
  }

  #wasRead(file: RegExp): boolean {
    return this.#accesses.some((access) => access.kind === 'read' && file.test(access.path));
  }

  #readings(process: number, name: string): number {
    this.#counts ??= this.#count();
    return this.#counts.get(`${process} ${name}`) ?? 0;
  }

  #count(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const access of this.#accesses) {
      if (access.kind !== 'read' || !/^\/(?:proc|sys)\//.test(access.path)) continue;
      const key = `${access.process} ${this.#nameOf(access)}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  }
}

function isBy({ program: pattern }: StartUpRead, program: string): boolean {
  return pattern ? pattern.test(program) : !CONTENT_TOOLS.has(program.replace(/[\d.]+$/, ''));
}
