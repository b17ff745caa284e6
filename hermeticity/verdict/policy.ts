// What belongs to the machine rather than to the action. A policy is data: it says which places every action may look at,
// because they go into the key as the toolchain, and which of them are about this machine or this person all the same.
// Whoever changes it changes its version (policy-version.ts).
import { type AbsPath, absPath } from '../system/absolute-path.ts';
import { INSTALLED_SOFTWARE } from '../system/installed-software.ts';

export interface Policy {
  /** Installed software and its settings. What an action reads there is its toolchain, not an undeclared input. */
  readonly toolchain: readonly AbsPath[];
  /** Below a toolchain folder, but about this machine or its users. */
  readonly machine: ReadonlySet<AbsPath>;
  /** The kernel's own files: no content that could be declared. */
  readonly kernel: readonly AbsPath[];
  /** Among those, the ones that nobody reads by accident, and the finding that each stands for. */
  readonly kernelFindings: ReadonlyMap<AbsPath, 'host' | 'random' | 'time'>;
  /** What libraries of the system look for in every program, outside of the folders above. */
  readonly ambientPaths: ReadonlySet<AbsPath>;
  /**
   * Names that a tool tries because of its own settings, not because of the action: a precompiled form of each file that
   * gcc opens, its own libraries in the working folder, a file called "-". That these are absent is not worth a finding.
   */
  readonly ambientNames: readonly RegExp[];
  /** Names that certain programs look for in every folder that they work in. */
  readonly programProbes: readonly { readonly program: RegExp; readonly names: RegExp }[];
  /**
   * Names that tools look for in every folder up to the root. That they are absent above the workspace is the rule;
   * where one is there it is read, which is a finding.
   */
  readonly upwardNames: ReadonlySet<string>;
  /** Programs that list a folder to look for names in it: what they then use, they open. */
  readonly folderListers: ReadonlySet<string>;
  /** Programs that look at outputs to clear them away, or to see whether they are to be made, by themselves or by another. */
  readonly outputCheckers: ReadonlySet<string>;
  /** Among those, the ones that only clear away: what they do not find is cleared, too. */
  readonly removers: ReadonlySet<string>;
  /** Programs that look at a file only where their script says so: to write one they just open it. */
  readonly shells: ReadonlySet<string>;
  /** The same for programs that also list folders for their own sake: excused only where a listing shows nothing new. */
  readonly moduleLoaders: RegExp;
  /** io_uring as an event loop asks for it at its start; denied like any other, but not worth a finding. */
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
    /* Options that gcc's drivers hand on in a file, and take for files first. */
    /\/-(?:l[^/]+|f[\w-]+=.*)$/,
    /* Folders for certain processors, which the dynamic loader tries in every folder of libraries (rpath). */
    /\/(?:tls|atomics|glibc-hwcaps|aarch64|haswell|x86_64|xeon_phi)(?:\/lib[^/]+\.so[.\d]*)?$/,
    /\/libgcc_s\.so\.1$/,
    /\/(?:-|<stdin>)$/,
    /* Version managers such as pyenv choose by these which installation of a tool to run; that one is then seen. */
    /\/\.(?:python|node|ruby|java|go)-version$/,
    /\/\.tool-versions$/,
  ],
  programProbes: [
    {
      program: /^(?:node|nodejs|bun|deno|tsc|esbuild)$/,
      names: /\/(?:package\.json|tsconfig\.json|jsconfig\.json|node_modules)$/,
    },
    /* Its built-in rules for two version control systems of old, and goals that are no files. */
    {
      program: /^g?make$/,
      names:
        /\/(?:RCS|SCCS)(?:\/|$)|,v$|\/s\.[^/]+$|\/(?:all|bench|build|check|clean|debug|default|dist|docs?|fmt|format|help|install|lint|release|run|start|tests?|FORCE)$/,
    },
    {
      program: /^python[\d.]*$/,
      names: /\/__pycache__(?:\/|$)|\/python\d+\.zip$|\/pyvenv\.cfg$|\/__init__\.(?:[^/]+\.)?so$/,
    },
    /* Compiled forms of modules, and folders for its own version in every folder of modules. */
    {
      program: /^perl[\d.]*$/,
      names: /\.pmc$|\/\d+\.\d+\.\d+(?:\/[^/]+-linux-[^/]+)?$|\/[^/]+-linux-[^/]+$/,
    },
    /* What it includes for each platform, and two names of its own. */
    { program: /^cmake$/, names: /\/(?:cmake|PreLoad\.cmake|Platform\/[^/]+)$/ },
  ],
  upwardNames: new Set(['package.json', 'tsconfig.json', 'jsconfig.json', 'node_modules', '.git']),
  folderListers: new Set(['make', 'gmake', 'ninja', 'tsc', 'esbuild']),
  outputCheckers: new Set(['rm', 'rmdir', 'mkdir', 'make', 'gmake', 'ninja', 'cc', 'gcc', 'c++', 'g++']),
  removers: new Set(['rm', 'rmdir']),
  shells: new Set(['sh', 'bash', 'dash', 'zsh']),
  moduleLoaders: /^python[\d.]*$/,
  /* libuv hands changes to epoll in batches through a ring of this size, in every Node process. */
  startUpRings: [
    { entries: 256, flags: 0 },
    { entries: 256, flags: IORING_SETUP_NO_SQARRAY },
  ],
};

function paths(...texts: string[]): AbsPath[] {
  return texts.map(absPath);
}
