// Finds the packages of a workspace: the folders that the root's assay.json names, else the workspaces of
// npm, pnpm or yarn.

import { readFileSync, statSync } from 'node:fs';
import picomatch from 'picomatch';
import { AssayError, messageOf } from '../../core/errors.ts';
import { join, parseRelPath, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';
import { CONFIG_FILE } from '../action/workspace-roots.ts';
import type { StatRecorder } from '../files/stat-recorder.ts';
import { type ConfigFile, readConfigFile } from './file.ts';

export interface Package {
  /** "" for the root. */
  readonly name: string;
  readonly folder: RelPath;
  readonly scripts: ReadonlyMap<string, string>;
  /** Names of packages, in this workspace or not. */
  readonly dependencies: readonly string[];
  readonly file: ConfigFile;
}

/** The used fields of a package.json. */
interface Manifest {
  readonly name?: string;
  readonly scripts: ReadonlyMap<string, string>;
  readonly dependencies: readonly string[];
  readonly workspaces?: readonly string[];
}

const NOTHING: Manifest = { scripts: new Map(), dependencies: [] };

const EMPTY_FILE: ConfigFile = {
  dependencies: [],
  defaults: {},
  packageSteps: new Map(),
  steps: new Map(),
};

const NEVER_PACKAGES: ReadonlySet<string> = new Set(['node_modules', '.git', ASSAY_FOLDER]);

/** Texts of configuration files by path, which replace those on disk. */
export type Texts = ReadonlyMap<RelPath, string>;

const AS_WRITTEN: Texts = new Map();

/** The root first, then the others by folder. Every file is read through `observations`. */
export async function readPackages(
  observations: StatRecorder,
  texts: Texts = AS_WRITTEN,
): Promise<[Package, ...Package[]]> {
  const packages = await listPackages(observations, texts);
  refuseSharedNames(packages);
  return packages;
}

/** The same, where several packages may have one name: steps need names, and files do not. */
export async function listPackages(
  observations: StatRecorder,
  texts: Texts = AS_WRITTEN,
): Promise<[Package, ...Package[]]> {
  const root = readPackage(observations, ROOT, texts);
  const folders = await foldersOf(root, observations);
  return [root, ...folders.map((folder) => readPackage(observations, folder, texts))];
}

async function foldersOf(root: Package, observations: StatRecorder): Promise<RelPath[]> {
  const declared = root.file.packages?.map(({ text }) => text);
  if (declared) return expand(declared, observations);
  const listed = readManifest(observations, ROOT).workspaces ?? (await pnpmPackages(observations)) ?? [];
  return expand(listed, observations, (folder) => isNpmPackage(folder, observations));
}

function isNpmPackage(folder: RelPath, observations: StatRecorder): boolean {
  return observations.lstat(join(folder, parseRelPath('package.json')))?.isFile() ?? false;
}

function readPackage(observations: StatRecorder, folder: RelPath, texts: Texts): Package {
  const manifest = readManifest(observations, folder);
  const path = join(folder, parseRelPath(CONFIG_FILE));
  const text = texts.get(path) ?? readText(observations, path);
  const file = text === undefined ? EMPTY_FILE : readConfigFile({ file: path, text });
  if (folder !== ROOT) refuseRootFields(file, folder);
  return {
    name: folder === ROOT ? '' : (file.name?.text ?? manifest.name ?? folder),
    folder,
    scripts: manifest.scripts,
    dependencies: [...manifest.dependencies, ...file.dependencies.map(({ text: name }) => name)],
    file,
  };
}

function refuseRootFields(file: ConfigFile, folder: RelPath): void {
  const [pattern] = file.packages ?? [];
  const [step] = file.packageSteps.values();
  const stray = pattern ?? step?.key;
  if (stray) throw stray.refuse(`packages and packageSteps belong in the root’s file, not in ${folder}`);
}

function refuseSharedNames(packages: readonly Package[]): void {
  const folders = new Map<string, RelPath>();
  for (const { name, folder } of packages) {
    const other = folders.get(name);
    if (other !== undefined) {
      throw new AssayError('ASSAY_CONFIG', `two packages are called ${name}: ${other} and ${folder}`);
    }
    folders.set(name, folder);
  }
}

/** Packages in folders that match a pattern and no "!" pattern, sorted. */
function expand(
  patterns: readonly string[],
  observations: StatRecorder,
  isPackage: (folder: RelPath) => boolean = () => true,
): RelPath[] {
  const takes = patterns.filter((pattern) => !pattern.startsWith('!')).map(tidy);
  const excluded = picomatch(
    patterns.filter((pattern) => pattern.startsWith('!')).map((one) => tidy(one.slice(1))),
  );
  const found = new Set<RelPath>();
  for (const pattern of takes) {
    const { base, isGlob } = picomatch.scan(pattern);
    const matches = picomatch(pattern);
    const depth = pattern.includes('**') ? Number.POSITIVE_INFINITY : pattern.split('/').length;
    const start = parseRelPath(isGlob ? base : pattern);
    for (const folder of isGlob ? foldersBelow(start, depth, observations) : [start]) {
      if ((!isGlob || matches(folder)) && !excluded(folder)) found.add(folder);
    }
  }
  const packages = [...found].filter(isPackage).sort();
  for (const folder of packages) refuseOddFolder(folder, observations);
  return packages;
}

function refuseOddFolder(folder: RelPath, observations: StatRecorder): void {
  if (!observations.lstat(folder)?.isDirectory())
    throw new AssayError('ASSAY_CONFIG', `the package ${JSON.stringify(folder)} is not a folder`);
  if (/[*?[\]{}()!]/.test(folder))
    throw new AssayError(
      'ASSAY_CONFIG',
      `the package’s folder ${JSON.stringify(folder)} holds glob characters`,
    );
}

function* foldersBelow(folder: RelPath, depth: number, observations: StatRecorder): Generator<RelPath> {
  const level = folder === ROOT ? 0 : folder.split('/').length;
  if (level >= depth || !observations.lstat(folder)?.isDirectory()) return;
  for (const { name, isFolder } of observations.list(folder)) {
    if (!isFolder || NEVER_PACKAGES.has(name)) continue;
    const path = join(folder, parseRelPath(name));
    yield path;
    yield* foldersBelow(path, depth, observations);
  }
}

function tidy(pattern: string): string {
  return pattern.replace(/^(\.\/+)+/, '').replace(/\/+$/, '');
}

async function pnpmPackages(observations: StatRecorder): Promise<string[] | undefined> {
  const text = readText(observations, parseRelPath('pnpm-workspace.yaml'));
  if (text === undefined) return undefined;
  const { parse } = await import('yaml');
  try {
    const value: unknown = parse(text);
    return isRecord(value) ? textsOf(value.packages) : undefined;
  } catch (error) {
    throw new AssayError('ASSAY_CONFIG', `pnpm-workspace.yaml: ${messageOf(error)}`);
  }
}

const DEPENDENCY_FIELDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];

function readManifest(observations: StatRecorder, folder: RelPath): Manifest {
  const path = join(folder, parseRelPath('package.json'));
  const text = readText(observations, path);
  if (text === undefined) return NOTHING;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AssayError('ASSAY_CONFIG', `${path}: ${messageOf(error)}`);
  }
  if (!isRecord(value)) return NOTHING;
  const { name, scripts, workspaces } = value;
  const globs = textsOf(isRecord(workspaces) ? workspaces.packages : workspaces);
  return {
    ...(typeof name === 'string' && { name }),
    scripts: new Map(isRecord(scripts) ? Object.entries(scripts).flatMap(textEntry) : []),
    dependencies: DEPENDENCY_FIELDS.flatMap((field) => namesIn(value[field])),
    ...(globs && { workspaces: globs }),
  };
}

function namesIn(dependencies: unknown): string[] {
  return isRecord(dependencies) ? Object.keys(dependencies) : [];
}

function textEntry([name, value]: [string, unknown]): [string, string][] {
  return typeof value === 'string' ? [[name, value]] : [];
}

function textsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads only plain files: reading a pipe or a device may never end. */
function readText(observations: StatRecorder, path: RelPath): string | undefined {
  const stats = observations.lstat(path);
  if (!stats) return undefined;
  try {
    const file = toSystemPath(observations.workspace, path).toString();
    if (stats.isSymbolicLink()) observations.follow(file);
    if (!statSync(file).isFile()) throw new Error('this is not a file');
    return readFileSync(file, 'utf8').replace(/^\ufeff/, '');
  } catch (error) {
    throw new AssayError('ASSAY_CONFIG', `${path}: ${messageOf(error)}`);
  }
}
