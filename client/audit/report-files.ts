// The files of --sarif and --html: checked before the run, written at the end, whole or not at all.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { usage } from '../../core/cli/command.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { replaceFile } from '../../system/files/replace-file.ts';

/** Fails before a long run, not after it. */
export function checkReportFile(flag: string, file: string | undefined): void {
  if (file === undefined || file === '-') return;
  const isFolder = statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (!isFolder)
    throw usage(`${flag} ${JSON.stringify(file)}: there is no folder ${JSON.stringify(dirname(file))}`);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`${flag} ${JSON.stringify(file)} is a folder`);
}

/** No reader sees a part. */
export function writeReport(file: string, text: string): void {
  try {
    replaceFile(file, text);
  } catch (error) {
    throw new AssayError('ASSAY_REPORT_UNWRITABLE', messageOf(error), { cause: error });
  }
}
