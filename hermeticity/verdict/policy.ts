// The policy: which paths belong to the machine rather than to the action. A policy is data only. It lists
// the folders that every action may read, because the key covers them as the toolchain, and the paths among
// them that describe this machine or its users. A change of the policy needs a new version
// (policy-version.ts).
import { type AbsPath, absPath } from '../../system/paths/absolute-path.ts';
import { INSTALLED_SOFTWARE } from '../../system/paths/installed-software.ts';
import { START_UP_READS, type StartUpRead } from './start-up-reads.ts';

export interface Policy {
  /** Installed software and its settings. Reads there belong to the toolchain, not to undeclared inputs. */
  readonly toolchain: readonly AbsPath[];
  /** Inside a toolchain folder, but about this machine or its users. */
  readonly machine: ReadonlySet<AbsPath>;
  /** The kernel's virtual files, whose content cannot be declared. */
  readonly kernel: readonly AbsPath[];
  /** Kernel files that runtimes read at their start, whatever the program does. */
  readonly startUpReads: readonly StartUpRead[];
  /** Paths that system libraries probe in every program, outside the folders above. */
  readonly ambientPaths: ReadonlySet<AbsPath>;
  /** Folders outside the workspace that a runtime writes its own records into, and nothing else reads. */
  readonly runtimeRecords: readonly RegExp[];
  /**
   * Names that a tool probes because of its own settings, whatever the action: gcc's precompiled headers, its
   * own libraries in the working folder, a file named "-". Their absence is no finding.
   */
  readonly ambientNames: readonly RegExp[];
  /** Names that certain programs probe in every folder that they work in. */
  readonly programProbes: readonly { readonly program: RegExp; readonly names: RegExp }[];
  /**
   * Configuration that tools search in their folder and in every folder up to the root. Its absence is
   * normal; a file that exists is read, which is a finding.
   */
  readonly configurationNames: RegExp;
  /** Programs that have no configuration in such files: they probe what their arguments name. */
  readonly plainPrograms: ReadonlySet<string>;
  /**
   * Places that tools try on every system: compilers at the root, openssl and Node on systems of other
   * makers.
   */
  readonly triedEverywhere: RegExp;
  /**
   * Names that tools search in every folder up to the root. Their absence above the workspace is normal; one
   * that exists is read, which is a finding.
   */
  readonly upwardNames: ReadonlySet<string>;
  /** Programs that list a folder to find names in it, and open what they use. */
  readonly folderListers: ReadonlySet<string>;
  /** Programs that probe outputs to remove them, or to decide whether to build them. */
  readonly outputCheckers: ReadonlySet<string>;
  /** Those of them that only remove: an output that they do not find counts as removed. */
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
  startUpReads: START_UP_READS,
  ambientPaths: new Set(paths('/run/nscd/socket', '/selinux', '/var/run', '/var/lock')),
  /*
   * Every Java process: its counters, and the files by which a debugger asks for its attention. TMPDIR does
   * not move them, and their names hold the process id.
   */
  runtimeRecords: [/^\/tmp\/hsperfdata_[^/]+(?:\/|$)/, /^\/tmp\/\.(?:java|attach)_pid\d+$/],
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
      names: /\/__pycache__(?:\/|$)|\/python\d+\.zip$|\/pyvenv\.cfg$|\/__init__\.(?:[^/]+\.)?so$|\.pyc$/,
    },
    /* Compiled modules, and version folders in every module folder. */
    {
      program: /^perl[\d.]*$/,
      names: /\.pmc$|\/\d+\.\d+\.\d+(?:\/[^/]+-linux-[^/]+)?$|\/[^/]+-linux-[^/]+$/,
    },
    /* Its per-platform includes, and names of its own. */
    { program: /^cmake$/, names: /\/(?:cmake|PreLoad\.cmake|build\.ninja|Platform\/[^/]+)$/ },
    /* What a package may have beside its sources. */
    { program: /^cargo$/, names: /\/(?:examples|tests|benches|build\.rs|README(?:\.md|\.txt)?)$/ },
    { program: /^go$/, names: /\/vendor$/ },
    { program: /^rustc$/, names: /\/rustc$/ },
    { program: /^(?:java|javac|jar|javadoc)$/, names: /\/\.hotspot(?:rc|_compiler)$/ },
  ],
  configurationNames: nameIn(
    /\.cargo(?:\/config(?:\.toml)?)?|Cargo\.toml|rust-toolchain(?:\.toml)?|\.?(?:clippy|rustfmt)\.toml/,
    /go\.(?:work|mod)|\.golangci\.\w+/,
    /pnpm-workspace\.yaml|deno\.jsonc?|\.npmrc|\.yarnrc(?:\.yml)?/,
    /\.?pytest\.(?:ini|toml)|tox\.ini|setup\.(?:cfg|py)|pyproject\.toml|conftest\.py|__init__\.py/,
    /\.?mypy\.ini|\.?ruff\.toml|\.coveragerc/,
    /\.editorconfig|\.eslintignore|eslint-suppressions\.json|\.browserslistrc|\.swcrc|\.(?:eslint|prettier|babel|postcss)rc(?:\.\w+)?/,
    /(?:eslint|vite|vitest|jest|babel|postcss|prettier|rollup|webpack)\.(?:config|workspace)\.\w+/,
    /CMake(?:User)?Presets\.json|\.clang-(?:format|tidy)/,
  ),
  plainPrograms: new Set(
    '[ awk cat cmp cp cut diff find grep gzip head install ln ls mv od readlink realpath sed sha256sum sort stat tail tar tee test touch tr uniq wc xargs'.split(
      ' ',
    ),
  ),
  triedEverywhere: /^\/(?:include|lib\w*|share|mingw|var\/ssl|system\/etc|boot\/system|run\/WSL)(?:\/|$)/,
  upwardNames: new Set(['package.json', 'tsconfig.json', 'jsconfig.json', 'node_modules', '.git']),
  folderListers: new Set(['make', 'gmake', 'ninja', 'tsc', 'esbuild']),
  outputCheckers: new Set(
    'rm rmdir mkdir make gmake ninja samu cmake cargo rustc go jar cc gcc c++ g++ cc1 cc1plus ld collect2'.split(
      ' ',
    ),
  ),
  removers: new Set(['rm', 'rmdir']),
  shells: new Set(['sh', 'bash', 'dash', 'zsh']),
  moduleLoaders: /^python[\d.]*$/,
  /* libuv submits epoll changes through a ring of this size, in every Node process. */
  startUpRings: [
    { entries: 256, flags: 0 },
    { entries: 256, flags: IORING_SETUP_NO_SQARRAY },
  ],
};

function nameIn(...names: readonly RegExp[]): RegExp {
  return new RegExp(`/(?:${names.map(({ source }) => source).join('|')})$`);
}

function paths(...texts: string[]): AbsPath[] {
  return texts.map(absPath);
}
