// The release before, made from the history of this checkout: tests let it write what this version reads, and the
// other way round. Nothing is fetched: a shallow clone lacks the commit, and the test says so.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FORMS } from '../rig/assay.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The commit of the release before. Each release names the one that it follows: change it after a tag. */
export const EARLIER = '7e81a08acc39bd8b465d59c77342c4b93f10c24f';

/** The protocols that it does not have, by their clients. Change them with it. */
export const EARLIER_LACKS: readonly string[] = ['mise', 'vite-plus'];

export interface Release {
  readonly name: string;
  readonly program: readonly string[];
}

/** This version, from the same kind of installation. */
export const NOW: Release = { name: 'this version', program: FORMS.source };

/** Runs from its sources, with its own tracer and the packages of this checkout. `remove` deletes it. */
export function unpackEarlier(): { readonly release: Release; remove(): void } {
  refuseShallow();
  const folder = mkdtempSync(join(tmpdir(), 'assay-earlier-'));
  const tree = execFileSync('git', ['archive', EARLIER], { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: tree });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'dist'), { recursive: true });
  execFileSync(join(folder, 'hermeticity/native/build.sh'), { stdio: 'ignore' });
  return {
    release: { name: 'the release before', program: [process.execPath, join(folder, 'bin/assay.ts')] },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function refuseShallow(): void {
  try {
    execFileSync('git', ['cat-file', '-e', `${EARLIER}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
  } catch (cause) {
    const why = `this clone lacks the commit ${EARLIER} of the release before: git fetch --unshallow`;
    throw new Error(why, { cause });
  }
}
