// Decides whether the content of a path may be private. A path set that is shared must not tell such content:
// from its digest, a short secret can be guessed. For the same reason a lookup for a remote does not read it.
//
// Private is, unless it is declared (then it is in no path set):
//   - below a home and outside the workspace: everything but installed software, and files of the workspace's
//     repository that git tracks;
//   - elsewhere outside the workspace: what other users may not read, and what has the name of a secret;
//   - in the workspace: the same, unless git tracks it. Tracked files are no secrets, and a checkout made with
//     umask 077 has no file that others may read.
// The folders above the workspace say nothing: the workspace itself lies in them, and is shared.
// That a path exists, or does not, is never private.
import { lstatSync, readFileSync, realpathSync, type Stats } from 'node:fs';
import { parseRelPath } from '../../core/path.ts';
import type { ObservedPath, PathSet } from '../../core/path-set.ts';
import {
  type AbsPath,
  absPath,
  absPathFromBytes,
  displayPath,
  FILESYSTEM_ROOT,
  foldersAbove,
  inside,
  isAtOrBelow,
  isBelow,
  parentFolder,
  relativeIn,
  toBytes,
} from '../../system/paths/absolute-path.ts';
import { TrackedFiles } from '../inputs/git-tracked.ts';
import { belowOwnHome } from './homes.ts';
import { isInstalled, isKernelPath, type Roots } from './roots.ts';
import { looksSecret } from './secret-names.ts';

const OTHERS_READ = 0o004;
const OTHERS_ENTER = 0o001;
/** Folders of packages, also in a workspace or a project below a home. */
const PACKAGES = /^(.*?\/(?:node_modules|site-packages|dist-packages))(?:\/|$)/;
/** The parts of an installation. A folder directly in a home, such as ~/.local, has also other things. */
const PARTS = new Set(
  'bin sbin shims lib lib32 lib64 libexec include share src pkg boot conf jmods packages versions VERSION go.env release pyvenv.cfg'.split(
    ' ',
  ),
);

/** No secrets, except those that a configuration may have. Git makes all of it closed with umask 077. */
const GIT_FOLDER = /(?:^|\/)\.git\//;
const SETTINGS = /^\.(?:config|local|cache|mozilla|thunderbird)\/|^\.(?:gitconfig|[^/]*history|[^/]*hist)$/;

export class PrivatePaths {
  readonly #workspace: AbsPath;
  readonly #roots: Roots;
  readonly #tracked: TrackedFiles;
  #known: readonly Project[] | undefined;
  /** By folder: most paths of a set lie in a few folders. */
  readonly #software = new Map<AbsPath, AbsPath | undefined>();
  readonly #realFolders = new Map<AbsPath, AbsPath>();
  readonly #closedFolders = new Map<AbsPath, boolean>();
  readonly #environments = new Map<AbsPath, boolean>();

  constructor(workspace: AbsPath, roots: Roots) {
    this.#workspace = workspace;
    this.#roots = roots;
    this.#tracked = new TrackedFiles(workspace);
  }

  /** Why a result with this path set must not be shared; undefined if it may be. */
  whyLocal(set: PathSet): string | undefined {
    for (const seen of set) {
      const path = holdsContent(seen) ? this.#roots.resolve(seen) : undefined;
      if (path === undefined || !this.isPrivate(path)) continue;
      const { homes } = this.#roots;
      const shown = belowOwnHome(path, homes) ?? displayPath(path, this.#workspace);
      return `its command ${seen.names ? 'listed' : 'read'} ${shown}, which may be private`;
    }
    return undefined;
  }

  /** False for a path that does not exist. */
  isPrivate(path: AbsPath): boolean {
    const real = this.realPath(path);
    const stats = real === undefined ? undefined : statsAt(real);
    if (real === undefined || stats === undefined || isKernelPath(real)) return false;
    if (this.#isGits(real)) return real.endsWith('/config') && hasCredentials(real);
    if (isAtOrBelow(real, this.#workspace)) return this.#inWorkspace(real, stats);
    const isAtHome = this.#roots.homes.around(real) !== undefined;
    return isAtHome ? this.#belowHome(real, stats) : this.#elsewhere(real, stats);
  }

  /**
   * A home, or something below one and outside the workspace: neither installed software nor a tracked file
   * of the project.
   */
  isUsers(real: AbsPath, stats = statsAt(real)): boolean {
    const home = this.#roots.homes.around(real);
    if (stats === undefined || home === undefined || isAtOrBelow(real, this.#workspace)) return false;
    if (real === home && !stats.isDirectory()) return false;
    if (this.#roots.isTool(real, stats) || this.softwareAround(real) !== undefined) return false;
    if (this.#isGits(real)) return false;
    // A repository that is the home itself tracks a user's settings.
    return !this.#projects().some(({ repository, files }) => isBelow(repository, home) && files.has(real));
  }

  /** The repositories of the workspace, and of the source trees that its links lead to. */
  #projects(): readonly Project[] {
    this.#known ??= [
      this.#tracked,
      ...this.#roots.sourceTrees().map((tree) => new TrackedFiles(tree)),
    ].flatMap((files) => {
      const { repository } = files;
      return repository === undefined ? [] : [{ repository, files }];
    });
    return this.#known;
  }

  /** Installed software below a home: it means the same to every user, and is no secret. */
  softwareAround(path: AbsPath): AbsPath | undefined {
    const folder = parentFolder(path);
    if (!this.#software.has(folder)) this.#software.set(folder, this.#findSoftware(folder));
    return this.#software.get(folder) ?? this.#findSoftware(path);
  }

  #findSoftware(path: AbsPath): AbsPath | undefined {
    return this.#roots.homes.softwareAround(path) ?? this.#packagesAround(path) ?? this.#toolAround(path);
  }

  /** The path without links in its folders; undefined if there is no such folder. */
  realPath(path: AbsPath): AbsPath | undefined {
    if (path === FILESYSTEM_ROOT) return path;
    const folder = parentFolder(path);
    const known = this.#realFolders.get(folder) ?? realFolder(folder);
    if (known === undefined) return undefined;
    this.#realFolders.set(folder, known);
    return inside(known, parseRelPath(path.slice(path.lastIndexOf('/') + 1)));
  }

  /** In the .git of the workspace's repository, or of one in the workspace. */
  #isGits(path: AbsPath): boolean {
    const { repository } = this.#tracked;
    const isInProject =
      repository !== undefined && isAtOrBelow(path, inside(repository, parseRelPath('.git')));
    return isInProject || (isAtOrBelow(path, this.#workspace) && GIT_FOLDER.test(path));
  }

  #inWorkspace(path: AbsPath, stats: Stats): boolean {
    const relative = relativeIn(this.#workspace, path) ?? '';
    const software = this.#packagesAround(path) ?? this.#roots.homes.softwareAround(path);
    const isClosed = software === undefined && this.#isClosed(path, stats, this.#workspace);
    if ((isClosed || this.#isInInnerHome(path, software)) && !this.#tracked.has(path)) return true;
    return looksSecret(relative, software !== undefined) && !this.#tracked.hasUnchanged(path);
  }

  /** A workspace may contain the caller's home, or be the home: then settings and histories are in it. */
  #isInInnerHome(path: AbsPath, software: AbsPath | undefined): boolean {
    const { own } = this.#roots.homes;
    const isInner = own !== undefined && isAtOrBelow(own, this.#workspace) && software === undefined;
    const relative = isInner ? relativeIn(own, path) : undefined;
    return relative !== undefined && (own !== this.#workspace || SETTINGS.test(relative));
  }

  #elsewhere(path: AbsPath, stats: Stats): boolean {
    if (isInstalled(path)) return this.#isClosed(path, stats, FILESYSTEM_ROOT) || looksSecret(path, true);
    if (this.#roots.isTool(path, stats)) return false;
    const tool = this.#toolAround(path);
    if (tool !== undefined) return this.#inSoftware(path, stats, tool);
    const isSoftware = this.#packagesAround(path) !== undefined;
    return this.#isClosed(path, stats, FILESYSTEM_ROOT) || looksSecret(path, isSoftware);
  }

  #belowHome(path: AbsPath, stats: Stats): boolean {
    if (this.isUsers(path, stats)) return true;
    if (this.#roots.isTool(path, stats)) return false;
    const software = this.softwareAround(path);
    if (software !== undefined) return this.#inSoftware(path, stats, software);
    return looksSecret(path, false) && !this.#projects().some(({ files }) => files.hasUnchanged(path));
  }

  /** A user whose umask is 077 installs everything closed: then modes say nothing. */
  #inSoftware(path: AbsPath, stats: Stats, software: AbsPath): boolean {
    const isClosedWhole = this.#isClosedFolder(software);
    return (!isClosedWhole && this.#isClosed(path, stats, software)) || looksSecret(path, true);
  }

  /** Whether its mode, or the mode of a folder below `top`, keeps other users out. */
  #isClosed(path: AbsPath, stats: Stats, top: AbsPath): boolean {
    if (path === top) return false;
    if (!stats.isSymbolicLink() && (stats.mode & OTHERS_READ) === 0 && !this.#isAboveWorkspace(path))
      return true;
    for (const folder of foldersAbove(path)) {
      if (folder === top) return false;
      if (!this.#isAboveWorkspace(folder) && this.#isClosedFolder(folder)) return true;
    }
    return false;
  }

  #isAboveWorkspace(folder: AbsPath): boolean {
    return isAtOrBelow(this.#workspace, folder);
  }

  #isClosedFolder(folder: AbsPath): boolean {
    const known = this.#closedFolders.get(folder);
    if (known !== undefined) return known;
    const isClosed = ((statsAt(folder)?.mode ?? 0) & OTHERS_ENTER) === 0;
    this.#closedFolders.set(folder, isClosed);
    return isClosed;
  }

  /** The node_modules, the site-packages or the virtual environment around the path. */
  #packagesAround(path: AbsPath): AbsPath | undefined {
    const packages = PACKAGES.exec(path)?.[1];
    if (packages !== undefined) return absPath(packages);
    const home = this.#roots.homes.around(path);
    for (const folder of foldersAbove(path)) {
      if (folder === home || folder === FILESYSTEM_ROOT || this.#isAboveWorkspace(folder)) return undefined;
      if (this.#isEnvironment(folder) && isPartOf(folder, path)) return folder;
    }
    return undefined;
  }

  #isEnvironment(folder: AbsPath): boolean {
    const known = this.#environments.get(folder);
    if (known !== undefined) return known;
    const isOne = statsAt(inside(folder, parseRelPath('pyvenv.cfg'))) !== undefined;
    this.#environments.set(folder, isOne);
    return isOne;
  }

  /**
   * The installation of a tool of the action. Directly in a home, only its parts count, not ~/.local/share.
   */
  #toolAround(path: AbsPath): AbsPath | undefined {
    const home = this.#roots.homes.around(path);
    const folder = this.#roots.toolFolders().find((one) => isAtOrBelow(path, one));
    if (folder === undefined || home === undefined) return folder;
    if (isAtOrBelow(home, folder)) return undefined;
    if (parentFolder(folder) !== home) return folder;
    const isUserData = folder.endsWith('/.local') && isAtOrBelow(path, inside(folder, parseRelPath('share')));
    return isPartOf(folder, path) && !isUserData ? folder : undefined;
  }
}

function isPartOf(installation: AbsPath, path: AbsPath): boolean {
  const [part = ''] = (relativeIn(installation, path) ?? '').split('/');
  return PARTS.has(part);
}

/** The digest of a file, the target of a link, the names in a folder. */
function holdsContent({ state, left }: ObservedPath): boolean {
  return CONTENT.test(state) || CONTENT.test(left);
}

const CONTENT = /^(?:file|program|link|names|placed|fits|stale) /;

/** A password in a URL, or a header that has one, as CI systems write into .git/config. */
function hasCredentials(path: AbsPath): boolean {
  try {
    return /extraheader|:\/\/[^\s/]*@|token|password/i.test(readFileSync(toBytes(path), 'utf8'));
  } catch {
    return true;
  }
}

function realFolder(folder: AbsPath): AbsPath | undefined {
  try {
    return absPathFromBytes(realpathSync.native(toBytes(folder), { encoding: 'buffer' }));
  } catch {
    return undefined;
  }
}

function statsAt(path: AbsPath): Stats | undefined {
  try {
    return lstatSync(toBytes(path), { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

interface Project {
  readonly repository: AbsPath;
  readonly files: TrackedFiles;
}
