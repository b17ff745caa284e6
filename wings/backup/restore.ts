// `assay store restore`: makes a new store from a finished backup.
//
// Guarantees:
// R1 It writes only into a folder that is empty or missing, or that an interrupted restore of the same backup left.
// R2 It may be killed at any moment. The next call goes on, and a server may use what is there: every result is whole.
// R3 Every byte is checked. What is damaged in the backup is left out, with the results that name it.
// R4 The store has no unfinished upload, so no upload of before goes on with bytes that the store lost.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type CommandModule, type FlagTable, parseFlags } from '../../core/cli/command.ts';
import { Telling } from '../../core/cli/progress.ts';
import { AssayError } from '../../core/errors.ts';
import { makeDurableFolder } from '../../system/files/calls.ts';
import { copyFolder } from './copy-folder.ts';
import { AUTH_KEY, foldersIn, TOKENS } from './folders.ts';
import { type Manifest, readManifest, temporaryOf, writeDurably } from './manifest.ts';
import { restoreText } from './texts.ts';

const SOME_DAMAGED = 1;
/** In the folder of a store that is not restored yet. Its content is the id of the backup. */
const UNFINISHED = 'restoring';

const flags = {
  store: {
    type: 'string',
    value: 'STORE',
    text: 'the folder of the new store; it is empty or does not exist',
  },
  tokens: {
    type: 'string',
    value: 'FILE',
    text: 'where the tokens file of the backup is written to; it does not exist',
  },
  json: {
    type: 'boolean',
    text: 'print one JSON object on standard output, and progress as one JSON object per line on standard error',
  },
} as const satisfies FlagTable;

export const restoreStoreCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay store restore --store STORE [FLAGS] DIR',
    text: [
      'Makes a new store in the folder STORE from the finished backup in DIR. Every byte is checked. A STORE that holds anything is refused.',
      'If it is interrupted, repeat it: it goes on. Uploads that were not finished begin again, and everything counts as used now.',
      'Give the store to the user of the server afterwards, if that is another one (chown -R).',
    ].join('\n'),
    flags,
    exitCodes: {
      '0': 'everything is in the store',
      '1': 'a part of the backup is damaged; all the rest is in the store',
      '2': 'failed; the error says why',
    },
    examples: [
      'assay store restore --store /var/lib/assay /backup/assay-2026-11-19',
      'assay store restore --store /var/lib/assay --tokens /etc/assay/tokens.json /backup/full',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const { store, folder } = foldersIn(parsed);
    const manifest = finishedBackup(folder);
    const tokens = tokensFile(parsed.text('tokens'), folder, manifest);
    await makeDurableFolder(store);
    claim(store, manifest);
    const telling = new Telling(parsed.given('json'));
    const { seen, unreadable, incomplete } = await copyFolder('restore', folder, store, telling, () => false);
    if (manifest.hasAuthKey) writeDurably(store, AUTH_KEY, readFileSync(join(folder, AUTH_KEY)));
    if (tokens !== undefined)
      writeDurably(dirname(tokens), basename(tokens), readFileSync(join(folder, TOKENS)));
    rmSync(join(store, UNFINISHED));
    const figures = {
      blobs: seen.blobs - unreadable,
      bytes: seen.bytes,
      results: seen.results - incomplete,
      unreadable,
      damaged: 0,
    };
    telling.report({ ...manifest, ...figures }, restoreText(store, manifest, figures, tokens));
    return unreadable === 0 ? 0 : SOME_DAMAGED;
  },
};

function finishedBackup(folder: string): Manifest {
  const manifest = readManifest(folder);
  if (!manifest) throw new AssayError('ASSAY_NO_BACKUP', `${folder} has no backup.json`);
  if (manifest.finishedAt !== undefined) return manifest;
  throw new AssayError('ASSAY_NO_BACKUP', `the backup of ${manifest.startedAt} in ${folder} is not finished`);
}

function tokensFile(given: string | undefined, folder: string, { hasTokens }: Manifest): string | undefined {
  if (given === undefined) return undefined;
  if (!hasTokens) throw new AssayError('ASSAY_NO_BACKUP', 'the backup has no tokens file');
  const file = resolve(given);
  const isRestored = existsSync(file) && readFileSync(file).equals(readFileSync(join(folder, TOKENS)));
  if (existsSync(file) && !isRestored) throw new AssayError('ASSAY_NOT_EMPTY', `${file} exists`);
  return file;
}

/** Marks the folder as one that this restore fills (R1). */
function claim(store: string, { id }: Manifest): void {
  const mark = join(store, UNFINISHED);
  if (existsSync(mark) && readFileSync(mark, 'utf8') === id) return;
  const found = readdirSync(store).find((name) => name !== temporaryOf(UNFINISHED));
  if (found !== undefined) throw new AssayError('ASSAY_NOT_EMPTY', `${store} holds ${found}`);
  writeDurably(store, UNFINISHED, id);
}
