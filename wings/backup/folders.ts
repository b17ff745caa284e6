// The two folders that both commands are about, and the names of the files in a backup.
// What a command writes after this can be read by its user alone.
import { resolve } from 'node:path';
import { type ParsedFlags, usage } from '../../core/cli/command.ts';

/** The same name as in the folder of a store. */
export const AUTH_KEY = 'auth-key';
export const TOKENS = 'tokens.json';

/** LMDB makes its files with the permissions that the umask leaves. */
const FOR_ONESELF = 0o077;

/** `--store STORE DIR` */
export function foldersIn(flags: ParsedFlags): { readonly store: string; readonly folder: string } {
  const store = flags.text('store');
  const [folder, ...more] = flags.positionals;
  if (store === undefined || folder === undefined || more.length > 0)
    throw usage('give --store STORE, and one folder of a backup');
  process.umask(FOR_ONESELF);
  return { store: resolve(store), folder: resolve(folder) };
}
