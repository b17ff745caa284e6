// `assay prune PKG…`: reads the workspace, asks its lock file what the packages need, and writes the folder.
import { join, resolve } from 'node:path';
import { CONFIG_FILE } from '../../client/action/workspace-roots.ts';
import type { Package } from '../../client/config/packages.ts';
import { loadWorkspace } from '../../client/config/workspace.ts';
import { currentFolder } from '../../client/files/current-folder.ts';
import { SyncStream } from '../../client/terminal/sync-stream.ts';
import { type CommandModule, type FlagTable, parseFlags, usage } from '../../core/cli/command.ts';
import { messageOf } from '../../core/errors.ts';
import { parseRelPath, type RelPath } from '../../core/path.ts';
import { filesOf, isOfInstall, refuseLinkedFolder, refuseUnlessPlainFile } from './files.ts';
import type { LockPart } from './lock-part.ts';
import { type OutFile, refuseUnlessOwn, writeOut } from './out-folder.ts';
import { openPrunable, outInside, packageNamed, partFor } from './workspace.ts';

const flags = {
  out: {
    type: 'string',
    value: 'DIR',
    text: 'the folder to write (default: out). It is replaced if an earlier assay prune made it',
  },
  docker: {
    type: 'boolean',
    text: 'write two folders into it: json, what an install reads, and full, with all files, so that a container’s layer with the install stays while only sources change',
  },
  json: { type: 'boolean', text: 'print one JSON object' },
} satisfies FlagTable;

export const pruneCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay prune PKG … [--out DIR] [--docker]',
    text: [
      'Copies the part of a workspace that the packages PKG need: them, the packages of the workspace that they depend on,',
      'the files that lie in the root itself, and the lock file without what these packages do not need. It reads',
      'package-lock.json (npm 7 and newer) and pnpm-lock.yaml (pnpm 9 and newer). Then `npm ci` or `pnpm install',
      '--frozen-lockfile` in the copy installs the versions that the whole workspace has.',
      '',
      'What .gitignore hides stays out. The workspace needs no assay.json.',
    ].join('\n'),
    flags,
    exitCodes: { '0': 'the folder is written', '2': 'nothing is written' },
    examples: ['assay prune web --docker', 'assay prune apps/web apps/admin --out ../pruned'],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    if (parsed.positionals.length === 0) throw usage('name a package: assay prune PKG');
    const out = resolve(currentFolder(), parsed.text('out') ?? 'out');
    refuseUnlessOwn(out);
    const workspace = await openPrunable(currentFolder(), out);
    const { root, lockFile, observations, packages } = workspace;
    const part = partFor(
      workspace,
      parsed.positionals.map((name) => packageNamed(name, packages)),
    );
    for (const folder of part.folders) refuseLinkedFolder(observations, folder);
    for (const file of part.files) refuseUnlessPlainFile(observations, file);
    const found = filesOf(observations, packages, part.folders, outInside(root, out));
    const paths = [...new Set([...found.paths, ...part.files])];
    const full = withLock(paths, lockFile, part);
    const install = full.filter(
      ({ path }) => path === lockFile || part.files.includes(path) || isOfInstall(path, part.folders),
    );
    const isDocker = parsed.given('docker');
    writeOut(
      out,
      root,
      isDocker
        ? new Map([
            ['json', install],
            ['full', full],
          ])
        : new Map([['', full]]),
    );
    const kept = packages.filter(({ folder }) => part.folders.has(folder));
    new SyncStream(1).write(
      parsed.given('json')
        ? `${JSON.stringify(asJson(out, lockFile, kept, part, found.skipped))}\n`
        : report(out, lockFile, kept, part, packages.length - 1, found.skipped),
    );
    if (found.paths.some((path) => path === CONFIG_FILE))
      await warnIfBroken(join(out, isDocker ? 'full' : ''));
    return 0;
  },
};

/** The root's assay.json may name packages that are left out. */
async function warnIfBroken(folder: string): Promise<void> {
  try {
    await loadWorkspace(folder);
  } catch (error) {
    new SyncStream(2).write(`assay: \`assay run\` will not work in ${folder}: ${messageOf(error)}\n`);
  }
}

/** The lock file is written anew, whatever .gitignore says of it. */
function withLock(paths: readonly RelPath[], lockFile: string, { text }: LockPart): OutFile[] {
  const lock = parseRelPath(lockFile);
  return [...paths.filter((path) => path !== lock).map((path) => ({ path })), { path: lock, text }];
}

function asJson(
  out: string,
  lockFile: string,
  packages: readonly Package[],
  { kept, all }: LockPart,
  skipped: readonly RelPath[],
) {
  return {
    out,
    lockFile,
    packages: packages.map(({ name, folder }) => ({ name, folder })),
    locked: { kept, all },
    skipped,
  };
}

function report(
  out: string,
  lockFile: string,
  packages: readonly Package[],
  { kept, all }: LockPart,
  most: number,
  skipped: readonly RelPath[],
): string {
  return [
    `wrote ${out}: ${packages.length} of ${most} packages, ${kept} of ${all} entries of ${lockFile}\n`,
    ...packages.map(({ name, folder }) => `  ${name === folder ? name : `${name} (${folder})`}\n`),
    ...skipped.map((path) => `left out: ${path}, which leads out of the workspace or is no plain file\n`),
  ].join('');
}
