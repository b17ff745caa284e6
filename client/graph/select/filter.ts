// The packages that --filter selects, by their names, folders and changes, and by who depends on whom.
// Guaranteed: a filter that names no package of this workspace is refused, so a misspelled one never selects nothing, or all.
//
//   NAME, @scope/*, //            a package by its name; // is the root
//   {FOLDER}, ./FOLDER            packages at or below a folder, or those that a glob matches
//   [REF]                         packages with a changed file since REF
//   NAME{FOLDER}[REF]             what fits all of these
//   X...  ...X  X^...  ...^X      with all that X depends on, with all that depend on it; with ^ without X itself
//   !X                            without these
import picomatch from 'picomatch';
import { suggestion, usage } from '../../../core/cli/command.ts';
import { AssayError } from '../../../core/errors.ts';
import type { RelPath } from '../../../core/path.ts';
import type { Package } from '../../config/packages.ts';

interface Filter {
  readonly text: string;
  readonly isNegated: boolean;
  readonly name?: string;
  readonly folder?: string;
  readonly since?: string;
  readonly withDependencies: boolean;
  readonly withDependents: boolean;
  /** What the rest selects is left out itself. */
  readonly isWithoutSelf: boolean;
}

/** The paths that changed since a commit. */
type ChangedSince = (ref: string) => readonly RelPath[];

const SELECTOR = /^(?<name>[^{}[\]]*)(?:\{(?<folder>[^{}[\]]+)\})?(?:\[(?<since>[^{}[\]]+)\])?$/;

export function parseFilter(text: string): Filter {
  const isNegated = text.startsWith('!');
  const [, before = '', selector = '', after = ''] =
    /^(\.\.\.\^?)?(.*?)(\^?\.\.\.)?$/s.exec(isNegated ? text.slice(1) : text) ?? [];
  if (selector.includes('...'))
    throw refusal(text, '"..." stands at the start, for dependents, or at the end');
  if (selector.includes('^') && !selector.includes('['))
    throw refusal(text, '"^" stands beside "...": NAME^... or ...^NAME');
  const parts = SELECTOR.exec(selector)?.groups;
  if (!parts || selector === '')
    throw refusal(text, 'it is NAME, {FOLDER}, [REF] or these together in that order, with "..." around');
  const isFolder = parts.name?.startsWith('./');
  if (isFolder && parts.folder) throw refusal(text, 'it names two folders');
  const name = isFolder ? undefined : parts.name || undefined;
  const folder = isFolder ? parts.name : parts.folder;
  return {
    text,
    isNegated,
    ...(name !== undefined && { name }),
    ...(folder !== undefined && { folder: tidyFolder(text, folder) }),
    ...(parts.since !== undefined && { since: parts.since }),
    withDependencies: after !== '',
    withDependents: before !== '',
    isWithoutSelf: before.includes('^') || after.includes('^'),
  };
}

/** The names of the packages that any filter selects, less those of filters with "!". Only those: of all packages. */
export function filterPackages(
  filters: readonly Filter[],
  packages: readonly Package[],
  changedSince: ChangedSince,
): ReadonlySet<string> {
  const graph = new PackageGraph(packages);
  const select = (filter: Filter) => selectedBy(filter, graph, changedSince);
  const takes = filters.filter(({ isNegated }) => !isNegated);
  const chosen =
    takes.length === 0 ? new Set(packages.map(({ name }) => name)) : new Set(takes.flatMap(select));
  for (const filter of filters.filter(({ isNegated }) => isNegated))
    for (const name of select(filter)) chosen.delete(name);
  return chosen;
}

function selectedBy(filter: Filter, graph: PackageGraph, changedSince: ChangedSince): string[] {
  const { withDependencies, withDependents, isWithoutSelf } = filter;
  const self = matched(filter, graph, changedSince).map(({ name }) => name);
  const found = new Set([
    ...self,
    ...(withDependencies ? graph.reachable(self, 'dependencies') : []),
    ...(withDependents ? graph.reachable(self, 'dependents') : []),
  ]);
  if (isWithoutSelf) for (const name of self) found.delete(name);
  return [...found];
}

function matched(filter: Filter, graph: PackageGraph, changedSince: ChangedSince): readonly Package[] {
  const { name, folder, since } = filter;
  const inFolder =
    folder === undefined ? graph.packages : graph.packages.filter((one) => isInFolder(one.folder, folder));
  if (inFolder.length === 0)
    throw unknown(filter, 'no package lies in that folder', folder ?? '', graph.folders);
  const named = name === undefined ? inFolder : inFolder.filter(isNamed(name, graph));
  if (named.length === 0) throw unknown(filter, 'no package has that name', name ?? '', graph.names);
  if (since === undefined) return named;
  const changed = graph.ownersOf(changedSince(since));
  return named.filter((one) => changed.has(one));
}

/** "ui" is also @acme/ui or libs/ui, if no package is called ui and no other one has that last part. */
function isNamed(name: string, { packages }: PackageGraph): (one: Package) => boolean {
  const exact = packages.filter((one) => shownName(one) === name);
  if (exact.length > 0) return (one) => exact.includes(one);
  if (isGlob(name)) return (one) => picomatch.isMatch(shownName(one), name);
  const scoped = packages.filter((one) => one.name.endsWith(`/${name}`));
  return (one) => scoped.length === 1 && one === scoped[0];
}

function isInFolder(folder: RelPath, wanted: string): boolean {
  if (isGlob(wanted)) return picomatch.isMatch(folder, wanted);
  return wanted === '' || folder === wanted || folder.startsWith(`${wanted}/`);
}

function isGlob(text: string): boolean {
  return /[*?(]/.test(text);
}

function shownName({ name }: Package): string {
  return name || '//';
}

class PackageGraph {
  readonly packages: readonly Package[];
  readonly #dependencies: ReadonlyMap<string, readonly string[]>;
  readonly #dependents = new Map<string, string[]>();

  constructor(packages: readonly Package[]) {
    const names = new Set(packages.map(({ name }) => name));
    this.packages = packages;
    this.#dependencies = new Map(
      packages.map(({ name, dependencies }) => [name, dependencies.filter((one) => names.has(one))]),
    );
    for (const [name, dependencies] of this.#dependencies)
      for (const one of dependencies) this.#dependents.set(one, [...(this.#dependents.get(one) ?? []), name]);
  }

  get names(): string[] {
    return this.packages.map(shownName);
  }

  get folders(): string[] {
    return this.packages.map(({ folder }) => folder);
  }

  /** A cycle is walked once. */
  reachable(from: readonly string[], direction: 'dependencies' | 'dependents'): Set<string> {
    const edges = direction === 'dependencies' ? this.#dependencies : this.#dependents;
    const found = new Set<string>();
    for (const left = [...from]; left.length > 0; ) {
      for (const next of edges.get(left.pop() ?? '') ?? []) {
        if (found.has(next)) continue;
        found.add(next);
        left.push(next);
      }
    }
    return found;
  }

  /** A file belongs to the package with the nearest folder above it, else to the root. */
  ownersOf(paths: readonly RelPath[]): ReadonlySet<Package> {
    const byFolder = new Map<string, Package>(this.packages.map((one) => [one.folder, one]));
    const owners = new Set<Package>();
    for (const path of paths) {
      let folder: string = path;
      while (folder !== '' && !byFolder.has(folder))
        folder = folder.slice(0, Math.max(folder.lastIndexOf('/'), 0));
      const owner = byFolder.get(folder);
      if (owner) owners.add(owner);
    }
    return owners;
  }
}

function tidyFolder(text: string, folder: string): string {
  const tidy = folder.replace(/^(\.\/+)+/, '').replace(/\/+$/, '');
  if (tidy.startsWith('/') || tidy.split('/').includes('..'))
    throw refusal(text, 'a folder is relative to the root of the workspace, and inside it');
  return tidy === '.' ? '' : tidy;
}

function refusal(text: string, why: string): AssayError {
  return usage(`--filter ${JSON.stringify(text)}: ${why}`);
}

function unknown({ text }: Filter, why: string, wanted: string, known: readonly string[]): AssayError {
  return new AssayError(
    'ASSAY_STEP_UNKNOWN',
    `--filter ${JSON.stringify(text)}: ${why}${suggestion(wanted, known, '')}`,
  );
}
