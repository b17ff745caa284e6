// Runs a step once under a tracer with nothing declared, and derives its declaration from what it accessed.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { audit } from '../../client/audit/audit.ts';
import { isInstalledPackage } from '../../client/audit/never-declared.ts';
import { relianceText } from '../../client/audit/report.ts';
import { requestOf } from '../../client/config/request.ts';
import type { Step } from '../../client/config/step.ts';
import { StatRecorder } from '../../client/files/stat-recorder.ts';
import { IgnoredPaths } from '../../client/inputs/ignored-paths.ts';
import { foldersOfOutputs } from '../../client/outputs/outputs.ts';
import type { RunContext } from '../../client/run/context.ts';
import { missingInCleanCopy } from '../../client/trace/output-folders.ts';
import { parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import type { TraceReport } from '../../hermeticity/trace/access.ts';
import { absPath, relativeIn } from '../../system/paths/absolute-path.ts';
import { doubtsAbout } from './doubts.ts';
import { variablesIn } from './variables.ts';

/** All paths are relative to the root. */
export interface ObservedStep {
  readonly exitCode: number;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly tools: readonly string[];
  /** The workspace files that it read. */
  readonly reads: readonly string[];
  /** It read installed packages, which are too many to list, so the step is declared "observed". */
  readonly readsPackages: boolean;
  /** Remarks for a person. */
  readonly unsure: readonly string[];
}

export const NOTHING_SEEN: ObservedStep = {
  exitCode: 0,
  inputs: [],
  outputs: [],
  tools: [],
  reads: [],
  readsPackages: false,
  unsure: [],
};

export interface ObservationContext {
  readonly root: string;
  /** Folders of all packages. */
  readonly folders: readonly RelPath[];
  /** Outputs of the steps observed before. */
  readonly made: readonly string[];
}

export async function observeStep(
  step: Step,
  { root, folders, made }: ObservationContext,
  context: RunContext,
): Promise<ObservedStep> {
  const request = requestOf(step, { root, steps: new Map() }, context.caller);
  const found = await audit(request, context, { reproduce: false });
  const fixes = (flag: string) =>
    found.findings.flatMap(({ fix }) => (fix?.flag === flag ? [fix.value] : []));
  const read = [...fixes('--input'), ...fixes('--optional-input')].map(plainPath);
  const written = found.findings.flatMap(({ kind, path, fix }) =>
    fix?.flag === '--output'
      ? [fix.value]
      : kind === 'write' && path !== undefined && isInside(path)
        ? [path]
        : [],
  );
  const topOf = topWithin(folders);
  const outputs = generalOutputs(
    [...written.map(plainPath), ...buildInformation(found.report, root)],
    read,
    topOf,
  );
  const used = read.filter((path) => isInput(path, outputs) && !isBelowFile(path, root));
  const ignored = new IgnoredPaths(new StatRecorder(root));
  const hidden = new Set(used.filter((path) => !isAmong(path, made) && ignored.has(path)));
  const inputs = generalInputs(
    used.filter((path) => !hidden.has(path)),
    root,
    topOf,
  );
  const left = [...new Set([...hidden].filter((path) => existsSync(join(root, path))).map(topOf))];
  const variables = variablesIn(
    step.command.join(' '),
    [...new Set(used)].map((path) => join(root, path)),
  );
  return {
    exitCode: found.exitCode,
    inputs,
    reads: used,
    outputs,
    tools: [...new Set(fixes('--tool'))],
    readsPackages: read.some(isInstalled),
    unsure: [
      ...missingInCleanCopy(
        { workspace: root, outputs: outputs.map(parseRelPath) },
        found.report.accesses,
        used.filter((path) => !hidden.has(path) && existsSync(join(root, path))).map(parseRelPath),
        // An output that is a folder is set aside as a whole.
        [...outputs.map(parseRelPath), ...foldersOfOutputs(outputs.map(parseRelPath))],
      ).map(relianceText),
      ...doubtsAbout(step, { audit: found, outputs, hidden: left, variables }),
    ],
  };
}

/**
 * What tsc left of a composite project. It is a cache of tsc, but other programs list the folder: as an output it is
 * there after a hit, too.
 */
function buildInformation({ accesses }: TraceReport, root: string): string[] {
  const written = accesses.flatMap((access) => {
    if (access.kind !== 'write' || !access.path.endsWith('.tsbuildinfo')) return [];
    return relativeIn(absPath(root), access.path) ?? [];
  });
  return [...new Set(written)].filter((path) => isFile(join(root, path)));
}

/** The path that a pattern was made from. */
function plainPath(pattern: string): string {
  return pattern.replaceAll(/\\(.)/g, '$1').replace(/^\.\//, '');
}

function isInside(path: string): boolean {
  return !path.startsWith('/') && path !== '..' && !path.startsWith('../');
}

function isInstalled(path: string): boolean {
  return /(^|\/)node_modules(\/|$)/.test(path);
}

function isInput(path: string, outputs: readonly string[]): boolean {
  return (
    isInside(path) && !isInstalledPackage(path) && !isAmong(path, outputs) && !/(^|\/)\.git(\/|$)/.test(path)
  );
}

/** Drops lookups below a file, where nothing can exist. */
function isBelowFile(path: string, root: string): boolean {
  const parts = path.split('/');
  return parts.some((_, at) => at > 0 && isFile(join(root, ...parts.slice(0, at))));
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    return false;
  }
}

function isAmong(path: string, outputs: readonly string[]): boolean {
  return outputs.some((output) => path === output || path.startsWith(`${output}/`));
}

/** The entry directly in the package's folder that is `path` or contains it. */
type TopOf = (path: string) => string;

function topWithin(folders: readonly RelPath[]): TopOf {
  const innermostFirst = folders.toSorted((a, b) => b.length - a.length);
  return (path) => {
    const home = innermostFirst.find((folder) => folder === ROOT || path.startsWith(`${folder}/`)) ?? ROOT;
    const from = home === ROOT ? 0 : home.length + 1;
    const end = path.indexOf('/', from);
    return end === -1 ? path : path.slice(0, end);
  };
}

/** A subfolder that was read counts as a whole; a file in the package's own folder by name. */
function generalInputs(paths: readonly string[], root: string, topOf: TopOf): string[] {
  const general = paths.map((path) => (topOf(path) === path ? path : `${topOf(path)}/**`));
  const named = [...new Set(general)].filter((path) => path !== '**' && path !== '');
  return named.filter((path) => existsSync(join(root, path.replace(/\/\*\*$/, '')))).sort();
}

/** A folder that was written and not otherwise read is an output as a whole. */
function generalOutputs(written: readonly string[], read: readonly string[], topOf: TopOf): string[] {
  const general = written
    .filter((path) => isInside(path) && !isInstalled(path))
    .map((path) => {
      const top = topOf(path);
      const isShared = read.some((one) => one.startsWith(`${top}/`) && !written.includes(one));
      return isShared ? path : top;
    });
  const all = [...new Set(general)].sort();
  return all.filter((path) => !all.some((outer) => path.startsWith(`${outer}/`)));
}
