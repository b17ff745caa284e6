// Where an audit goes besides the terminal: SARIF for code scanning, a page for people.
import { renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { usage } from '../../core/cli/command.ts';
import { AssayError, messageOf } from '../../core/errors.ts';

/** Refuses at once what would be refused after a long run. */
export function checkReportFile(flag: string, file: string | undefined): void {
  if (file === undefined || file === '-') return;
  const isFolder = statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (!isFolder)
    throw usage(`${flag} ${JSON.stringify(file)}: there is no folder ${JSON.stringify(dirname(file))}`);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`${flag} ${JSON.stringify(file)} is a folder`);
}

/** All of it or nothing: a half-written report might still be read. */
export function writeReport(file: string, text: string): void {
  const staged = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(staged, text);
    renameSync(staged, file);
  } catch (error) {
    throw new AssayError('ASSAY_REPORT_UNWRITABLE', messageOf(error), { cause: error });
  }
}
