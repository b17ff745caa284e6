// The users that a test needs beside its own: root, and one without root's rights.
// Guaranteed: a test is never left out for its user. Where it cannot have the other one, it fails and says what it needs.
import { execFileSync } from 'node:child_process';

export const IS_ROOT = process.getuid?.() === 0;

const NOBODY = 65_534;

/** A user without root's rights: the one that runs the tests, unless that is root. */
export const ORDINARY_USER = IS_ROOT ? NOBODY : (process.getuid?.() ?? NOBODY);

/** Neither root's rights nor the user that runs the tests. For a test that runs as an ordinary user: root. */
export const OTHER_USER = IS_ROOT ? NOBODY : 0;

/** Before a command: it runs as the ordinary user. */
export const AS_ORDINARY_USER: readonly string[] = IS_ROOT
  ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--']
  : [];

/** Before a command: it runs as root. */
export const AS_ROOT: readonly string[] = IS_ROOT ? [] : ['sudo', '--non-interactive', '--'];

/** Runs a short command as root, by sudo if need be. */
export function asRoot(...command: readonly string[]): void {
  const [program = '', ...args] = [...AS_ROOT, ...command];
  try {
    execFileSync(program, args, { stdio: 'pipe' });
  } catch (error) {
    if (IS_ROOT) throw error;
    throw new Error(`this test needs root, or sudo without a password: ${String(error)}`);
  }
}

/** Before a command: it runs in new namespaces. An ordinary user is root in a user namespace of its own. */
export function inNamespaces(...kinds: readonly string[]): string[] {
  return ['unshare', ...(IS_ROOT ? [] : ['--map-root-user']), ...kinds];
}
