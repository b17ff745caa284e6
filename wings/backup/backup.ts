// `assay store backup`: copies a store into a folder, which is then a store with the file backup.json beside it.
//
// Guarantees:
// B1 Every result that was acknowledged before the backup began, and was not evicted before it was copied, is in it
//    and whole. The source is only read: nothing is leased, locked or kept from eviction for it.
// B2 It may be killed at any moment. The next call with the same folder goes on where the copy is (M3 of copy.ts).
// B3 It is finished only after every byte was read again from the folder, and matched its SHA-256.
// B4 Nothing of an unfinished upload is in it, so no upload goes on at a restored store with bytes of before.
// B5 Only its user can read it. Secrets are in it only if they were asked for.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { type CommandModule, type FlagTable, type ParsedFlags, parseFlags } from '../../core/cli/command.ts';
import { Telling } from '../../core/cli/progress.ts';
import { AssayError } from '../../core/errors.ts';
import { isUploadPart } from '../../core/namespace.ts';
import { VERSION } from '../../core/version.ts';
import { refuseIfNoStore } from '../../store/disk/fs/layout.ts';
import { openDiskStore } from '../../store/open.ts';
import { newProgress, type ScrubProgress, scrub, shareDone } from '../../store/scrub/scrub.ts';
import { makeDurableFolder } from '../../system/files/calls.ts';
import { copyFolder } from './copy-folder.ts';
import { AUTH_KEY, foldersIn, TOKENS } from './folders.ts';
import {
  MANIFEST,
  type Manifest,
  readManifest,
  temporaryOf,
  writeDurably,
  writeManifest,
} from './manifest.ts';
import { backupText, damagedText } from './texts.ts';

const DAMAGED = 1;

const flags = {
  store: { type: 'string', value: 'STORE', text: 'the folder of the store; servers may use it meanwhile' },
  'auth-key': {
    type: 'boolean',
    text: 'with the key that signs short tokens and logins; without it, they end at the restored store',
  },
  tokens: { type: 'string', value: 'FILE', text: 'with this tokens file' },
  json: {
    type: 'boolean',
    text: 'print one JSON object on standard output, and progress as one JSON object per line on standard error',
  },
} as const satisfies FlagTable;

export const backupCommand: CommandModule = {
  failureCode: 2,
  help: {
    usage: 'assay store backup --store STORE [FLAGS] DIR',
    text: [
      'Copies blobs, results, labels and the history of a store into the folder DIR, while servers use the store. Every byte is checked, and read again from DIR.',
      'Every result that was acknowledged before the start is in the backup, unless it was evicted meanwhile. Unfinished uploads and the order of use are not copied.',
      'If it is interrupted, repeat it: it goes on. A finished backup is not changed any more: give the next one another folder.',
      'The key that signs short tokens, and the tokens file, are in it only if you ask for them. The write log and the configuration never are: copy those as files.',
    ].join('\n'),
    flags,
    exitCodes: {
      '0': 'the backup is finished',
      '1': 'DIR returned other bytes than were written; repeat the command, or use another disk',
      '2': 'failed; the error says why',
    },
    examples: [
      'assay store backup --store /var/lib/assay /backup/assay-2026-11-19',
      'assay store backup --store /var/lib/assay --auth-key --tokens /etc/assay/tokens.json /backup/full',
    ],
  },
  async main(args) {
    const parsed = parseFlags(args, flags);
    const { store, folder } = foldersIn(parsed);
    refuseIfNoStore(store);
    if (`${folder}${sep}`.startsWith(`${store}${sep}`))
      throw new AssayError('ASSAY_NOT_EMPTY', `${folder} is in the store itself`);
    await makeDurableFolder(folder);
    const begun = begin(folder, parsed.given('auth-key'), parsed.text('tokens'));
    copySecrets(store, folder, parsed);
    const telling = new Telling(parsed.given('json'));
    const { unreadable } = await copyFolder('backup', store, folder, telling, ({ namespace }) =>
      isUploadPart(namespace),
    );
    const { blobs, bytes, results, damaged } = await readAgain(folder, telling);
    const figures = { blobs, bytes, results, unreadable, damaged };
    if (damaged > 0) {
      telling.report({ ...begun, ...figures }, damagedText(folder, figures));
      return DAMAGED;
    }
    const finished = { ...begun, finishedAt: new Date().toISOString() };
    writeManifest(folder, finished);
    telling.report({ ...finished, ...figures }, backupText(folder, finished, figures));
    return 0;
  },
};

/** The manifest of the backup that goes on in this folder, or of a new one. */
function begin(folder: string, authKey: boolean, tokens: string | undefined): Manifest {
  const earlier = readManifest(folder);
  if (earlier?.finishedAt !== undefined)
    throw new AssayError('ASSAY_NOT_EMPTY', `${folder} holds a finished backup, of ${earlier.startedAt}`);
  const other = readdirSync(folder).find((name) => name !== temporaryOf(MANIFEST));
  if (!earlier && other !== undefined)
    throw new AssayError('ASSAY_NOT_EMPTY', `${folder} holds ${other}, and no backup`);
  const manifest = {
    id: earlier?.id ?? randomUUID(),
    assay: VERSION,
    startedAt: earlier?.startedAt ?? new Date().toISOString(),
    hasAuthKey: authKey || earlier?.hasAuthKey === true,
    hasTokens: tokens !== undefined || earlier?.hasTokens === true,
  };
  writeManifest(folder, manifest);
  return manifest;
}

function copySecrets(store: string, folder: string, flags: ParsedFlags): void {
  const tokens = flags.text('tokens');
  if (flags.given('auth-key')) writeDurably(folder, AUTH_KEY, readFileSync(join(store, AUTH_KEY)));
  if (tokens !== undefined) writeDurably(folder, TOKENS, readFileSync(resolve(tokens)));
}

/** Every blob against its SHA-256, every result for its blobs. What is damaged is taken out of the copy. */
async function readAgain(folder: string, telling: Telling): Promise<ScrubProgress> {
  const store = await openDiskStore({ directory: folder });
  try {
    const inspection = await store.inspect?.();
    const checked =
      inspection &&
      (await scrub(newProgress(Date.now()), {
        inspection,
        throttle: undefined,
        now: Date.now,
        onPage: store.trim,
        onProgress(progress) {
          telling.progress(
            progress,
            () => `reading the backup again, ${Math.floor(100 * shareDone(progress))} %`,
          );
        },
      }));
    if (!checked) throw new AssayError('ASSAY_INTERNAL', 'the check of the backup did not end');
    return checked;
  } finally {
    await store.close();
  }
}
