// Shared by the tests of second runs: the helper built from the current sources, and an action on disk.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { relPathFromUser } from '../../../core/path.ts';
import type { Reproduction } from '../../../hermeticity/reproduction.ts';
import { Folder, PROJECT } from '../../../test/hermeticity/rig.ts';
import { reproduce } from '../experiment/reproduce.ts';
import type { ReproduceCase } from './corpus.ts';

const SOURCES = join(PROJECT, 'wings/reproduce/native');
const HELPER = join(PROJECT, 'dist/assay-vary');

/**
 * Builds the helper if a source is newer; build.sh replaces it in one step, so test files may do this at
 * once.
 */
export function varyHelper(): string {
  const builtAt = statSync(HELPER, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = readdirSync(SOURCES).map((name) => statSync(join(SOURCES, name)).mtimeMs);
  if (sources.some((changedAt) => changedAt > builtAt)) execFileSync(join(SOURCES, 'build.sh'), [HELPER]);
  return HELPER;
}

export async function reproduceCase(
  one: ReproduceCase,
  helper: string,
  begins?: (number: number, varied: readonly string[]) => void,
): Promise<Reproduction> {
  const around = new Folder();
  try {
    mkdirSync(around.at('workspace'));
    for (const [path, content] of Object.entries(one.files ?? {})) around.write(`workspace/${path}`, content);
    return await reproduce({
      action: {
        workspace: around.at('workspace'),
        paths: Object.keys(one.files ?? {}).map(relPathFromUser),
        kept: [],
        state: { paths: [], outputs: [] },
        folders: [],
        workingDirectory: relPathFromUser(''),
        argvIn: () => ['/usr/bin/env', ...one.command],
        environmentIn: ({ home, tmp }) => ({
          PATH: '/usr/local/bin:/usr/bin:/bin',
          HOME: home,
          TMPDIR: tmp,
          TZ: 'UTC',
          LC_ALL: 'C.UTF-8',
        }),
        undeclared: one.undeclared ?? {},
      },
      fixedVariables: {},
      now: Date.now,
      helper,
      ...(begins && { onTrial: begins }),
    });
  } finally {
    around.remove();
  }
}
