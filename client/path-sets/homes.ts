// The home folders of this machine, and the software that is installed below them.
//
// A home is the caller's (HOME), the one that the user database has for the caller, that of each person in
// /etc/passwd, and every folder where systems keep homes (/root, /home/NAME). A folder that holds installed
// software (/, /usr) is never a home: with HOME=/ only the names in / that begin with a dot belong to a user.
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { isAbsolute } from 'node:path';
import { parseRelPath, ROOT } from '../../core/path.ts';
import {
  type AbsPath,
  absPath,
  FILESYSTEM_ROOT,
  inside,
  isAtOrBelow,
  readable,
  relativeIn,
} from '../../system/paths/absolute-path.ts';
import { HOME_SOFTWARE } from '../../system/paths/home-software.ts';
import { INSTALLED_SOFTWARE } from '../../system/paths/installed-software.ts';
import { userOfProcess } from '../../system/process/password-file.ts';
import { homeFolder } from '../local-store/store-folder.ts';

/** Where systems keep homes; the last is a Windows disk of WSL. */
const USUAL_HOME = /^(?:\/root|(?:\/var|\/export)?\/home\/[^/]+|\/mnt\/[^/]+\/Users\/[^/]+)(?=\/|$)/;
/** Users below are services; 65534 is nobody. */
const FIRST_PERSON = 1000;
const NOBODY = 65_534;

interface HomeSoftware {
  /** One of HOME_SOFTWARE. */
  readonly name: string;
  /** The real path. */
  readonly folder: AbsPath;
}

export class Homes {
  /** The caller's home by its real path; undefined without one. */
  readonly own: AbsPath | undefined;
  readonly #homes: readonly AbsPath[];
  readonly #ownIsRoot: boolean;
  #software: { readonly workspace: AbsPath; readonly found: readonly HomeSoftware[] } | undefined;

  constructor(home: string = homeFolder(), others: readonly string[] = homesOfPeople()) {
    // Homes of others are not looked at: they may be on file servers that do not answer.
    const own = isAbsolute(home) ? realPath(home) : undefined;
    const named = [home, ...others].filter((folder) => isAbsolute(folder)).map(normal);
    this.#homes = [...new Set([...(own ? [own] : []), ...named])].filter(isHome);
    this.own = own !== undefined && isHome(own) ? own : undefined;
    this.#ownIsRoot = own === FILESYSTEM_ROOT;
  }

  /** The home that the path is, or lies below. */
  around(path: AbsPath): AbsPath | undefined {
    const [home] = this.#allAround(path);
    return home;
  }

  /** A home may lie in another one, as in containers of GitHub. The caller's comes first. */
  #allAround(path: AbsPath): AbsPath[] {
    const usual = USUAL_HOME.exec(path)?.[0];
    const isDotFile = this.#ownIsRoot && path.startsWith('/.') && path !== '/.dockerenv';
    return [
      ...this.#homes.filter((home) => isAtOrBelow(path, home)),
      ...(usual === undefined ? [] : [absPath(usual)]),
      ...(isDotFile ? [FILESYSTEM_ROOT] : []),
    ];
  }

  /** The folder of installed software around the path, in any home. */
  softwareAround(path: AbsPath): AbsPath | undefined {
    for (const home of this.#allAround(path)) {
      const relative = relativeIn(home, path);
      const name = HOME_SOFTWARE.find((one) => relative === one || relative?.startsWith(`${one}/`));
      if (name !== undefined) return inside(home, parseRelPath(name));
    }
    return undefined;
  }

  /** The installed software in the caller's home. What lies in the workspace belongs to it. */
  ownSoftware(workspace: AbsPath): readonly HomeSoftware[] {
    if (this.#software?.workspace !== workspace)
      this.#software = { workspace, found: this.#findSoftware(workspace) };
    return this.#software.found;
  }

  #findSoftware(workspace: AbsPath): HomeSoftware[] {
    const home = this.own;
    if (home === undefined) return [];
    const keepOut = [workspace, home, ...this.#homes];
    return namesThatMayExist(home).flatMap((name) => {
      const folder = existingFolder(inside(home, parseRelPath(name)));
      if (folder === undefined || isAtOrBelow(folder, workspace)) return [];
      if (keepOut.some((place) => isAtOrBelow(place, folder))) return [];
      return [{ name, folder }];
    });
  }
}

/** The path with "~" for the caller's home, as people write it; undefined if it lies elsewhere. */
export function belowOwnHome(path: AbsPath, { own }: Homes): string | undefined {
  const relative = own === undefined ? undefined : relativeIn(own, path);
  if (relative === undefined) return undefined;
  return relative === ROOT ? '~' : `~/${readable(relative)}`;
}

function isHome(folder: AbsPath): boolean {
  const isSystem = SYSTEM.some((place) => isAtOrBelow(place, folder) || isAtOrBelow(folder, place));
  return !isSystem && !HOLDING_SOFTWARE.some((place) => isAtOrBelow(place, folder));
}

const HOLDING_SOFTWARE = INSTALLED_SOFTWARE.map(absPath);
/** Containers may have a home in /opt. */
const SYSTEM = [
  ...HOLDING_SOFTWARE.filter((place) => place !== '/opt'),
  ...['/dev', '/proc', '/sys'].map(absPath),
];

function homesOfPeople(): string[] {
  const homes: string[] = [];
  try {
    homes.push(userOfProcess()?.home ?? userInfo().homedir);
  } catch {
    // This user is in no database.
  }
  try {
    for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
      const [, , uid = '', , , home = ''] = line.split(':');
      if (Number(uid) >= FIRST_PERSON && Number(uid) !== NOBODY) homes.push(home);
    }
  } catch {
    // A container may have no such file.
  }
  return homes;
}

function normal(folder: string): AbsPath {
  return absPath(folder.replaceAll(/\/+/g, '/').replace(/(?<=.)\/$/, ''));
}

function realPath(folder: string): AbsPath {
  try {
    return absPath(realpathSync(folder));
  } catch {
    return normal(folder);
  }
}

/** One listing of the home rules out most of the names, each of which would take a system call. */
function namesThatMayExist(home: AbsPath): readonly string[] {
  try {
    const there = new Set(readdirSync(home));
    return HOME_SOFTWARE.filter((name) => there.has(name.split('/', 1)[0] ?? ''));
  } catch {
    return HOME_SOFTWARE; // a home may be closed for listing and open for those who know a name
  }
}

/** Its real path; undefined if there is none. */
function existingFolder(folder: AbsPath): AbsPath | undefined {
  try {
    return absPath(realpathSync.native(folder));
  } catch {
    return undefined;
  }
}
