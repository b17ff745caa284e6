// The policy: which paths belong to the machine rather than to the action. A policy is data only. It lists
// the folders that every action may read, because the key covers them as the toolchain, and the paths among
// them that describe this machine or its users. A change of the policy needs a new version
// (policy-version.ts).
import { type AbsPath, absPath } from '../system/absolute-path.ts';
import { INSTALLED_SOFTWARE } from '../system/installed-software.ts';

export interface Policy {
  /** Installed software and its settings. Reads there belong to the toolchain, not to undeclared inputs. */
  readonly toolchain: readonly AbsPath[];
  /** Inside a toolchain folder, but about this machine or its users. */
  readonly machine: ReadonlySet<AbsPath>;
  /** The kernel's virtual files, whose content cannot be declared. */
  readonly kernel: readonly AbsPath[];
  /** Kernel files that no program reads by accident, with the finding that a read means. */
  readonly kernelFindings: ReadonlyMap<AbsPath, 'host' | 'random' | 'time'>;
  /** Paths that system libraries probe in every program, outside the folders above. */
  readonly ambientPaths: ReadonlySet<AbsPath>;
  /**
   * Names that a tool probes because of its own settings, whatever the action: gcc's precompiled headers, its
   * own libraries in the working folder, a file named "-". Their absence is no finding.
   */
  readonly ambientNames: readonly RegExp[];
  /** Names that certain programs probe in every folder that they work in. */
  readonly programProbes: readonly { readonly program: RegExp; readonly names: RegExp }[];
  /**
   * Names that tools search in every folder up to the root. Their absence above the workspace is normal; one
   * that exists is read, which is a finding.
   */
  readonly upwardNames: ReadonlySet<string>;
  /** Programs that list a folder to find names in it, and open what they use. */
  readonly folderListers: ReadonlySet<string>;
  /** Programs that probe outputs to remove them, or to decide whether to build them. */
  readonly outputCheckers: ReadonlySet<string>;
  /** Of those, programs that only remove: an output that they do not find counts as removed. */
  readonly removers: ReadonlySet<string>;
  /** Programs that probe a file only if their script says so: to write a file they just open it. */
  readonly shells: ReadonlySet<string>;
  /** Programs that list module folders at start. Excused only if the listing shows nothing undeclared. */
  readonly moduleLoaders: RegExp;
  /** The io_uring set-up that an event loop tries at start: denied, but no finding. */
  readonly startUpRings: readonly { readonly entries: number; readonly flags: number }[];
}

const IORING_SETUP_NO_SQARRAY = 0x10000;

export const DEFAULT_POLICY: Policy = {
  toolchain: paths(...INSTALLED_SOFTWARE, '/etc', '/snap'),
  machine: new Set(
    paths(
      '/etc/adjtime',
      '/etc/fstab',
      '/etc/group',
      '/etc/gshadow',
      '/etc/hostname',
      '/etc/hosts',
      '/etc/localtime',
      '/etc/machine-id',
      '/etc/mtab',
      '/etc/passwd',
      '/etc/resolv.conf',
      '/etc/shadow',
      '/etc/subgid',
      '/etc/subuid',
      '/etc/timezone',
    ),
  ),
  kernel: paths('/proc', '/sys', '/dev'),
  kernelFindings: new Map([
    [absPath('/proc/sys/kernel/hostname'), 'host'],
    [absPath('/proc/sys/kernel/random/boot_id'), 'random'],
    [absPath('/proc/sys/kernel/random/uuid'), 'random'],
    [absPath('/proc/uptime'), 'time'],
  ]),
  ambientPaths: new Set(paths('/run/nscd/socket', '/selinux', '/var/run', '/var/lock')),
  ambientNames: [
    /\.gch$/,
    /* gcc's drivers pass options in a file, and try each as a file name first. */
    /\/-(?:l[^/]+|f[\w-]+=.*)$/,
    /* CPU-specific folders that the dynamic loader tries in every library folder (rpath). */
    /\/(?:tls|atomics|glibc-hwcaps|aarch64|haswell|x86_64|xeon_phi)(?:\/lib[^/]+\.so[.\d]*)?$/,
    /\/libgcc_s\.so\.1$/,
    /\/(?:-|<stdin>)$/,
    /*
     * Version managers such as pyenv choose a tool's installation by these files; that installation is
     * traced.
     */
    /\/\.(?:python|node|ruby|java|go)-version$/,
    /\/\.tool-versions$/,
  ],
  programProbes: [
    {
      program: /^(?:node|nodejs|bun|deno|tsc|esbuild)$/,
      names: /\/(?:package\.json|tsconfig\.json|jsconfig\.json|node_modules)$/,
    },
    /* make's built-in rules for RCS and SCCS, and goals that are no files. */
    {
      program: /^g?make$/,
      names:
        /\/(?:RCS|SCCS)(?:\/|$)|,v$|\/s\.[^/]+$|\/(?:all|bench|build|check|clean|debug|default|dist|docs?|fmt|format|help|install|lint|release|run|start|tests?|FORCE)$/,
    },
    {
      program: /^python[\d.]*$/,
      names: /\/__pycache__(?:\/|$)|\/python\d+\.zip$|\/pyvenv\.cfg$|\/__init__\.(?:[^/]+\.)?so$/,
    },
    /* Compiled modules, and version folders in every module folder. */
    {
      program: /^perl[\d.]*$/,
      names: /\.pmc$|\/\d+\.\d+\.\d+(?:\/[^/]+-linux-[^/]+)?$|\/[^/]+-linux-[^/]+$/,
    },
    /* Its per-platform includes, and two names of its own. */
    { program: /^cmake$/, names: /\/(?:cmake|PreLoad\.cmake|Platform\/[^/]+)$/ },
  ],
  upwardNames: new Set(['package.json', 'tsconfig.json', 'jsconfig.json', 'node_modules', '.git']),
  folderListers: new Set(['make', 'gmake', 'ninja', 'tsc', 'esbuild']),
  outputCheckers: new Set(['rm', 'rmdir', 'mkdir', 'make', 'gmake', 'ninja', 'cc', 'gcc', 'c++', 'g++']),
  removers: new Set(['rm', 'rmdir']),
  shells: new Set(['sh', 'bash', 'dash', 'zsh']),
  moduleLoaders: /^python[\d.]*$/,
  /* libuv submits epoll changes through a ring of this size, in every Node process. */
  startUpRings: [
    { entries: 256, flags: 0 },
    { entries: 256, flags: IORING_SETUP_NO_SQARRAY },
  ],
};

function paths(...texts: string[]): AbsPath[] {
  return texts.map(absPath);
}
