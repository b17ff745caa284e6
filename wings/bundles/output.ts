// The outputs of an export: a file, or standard output.
// Guarantee: a file has its name only when it is whole and synced.
import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { usage } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import { syncFolder } from '../../system/files/calls.ts';
import type { Sink } from './format/writer.ts';

export interface BundleOutput extends Sink {
  /** The file is whole now. Returns its SHA-256, if that was asked for. */
  finish(): Promise<string | undefined>;
  /** Nothing of it stays. */
  abort(): void;
}

/** The rename at the end would replace a device or a pipe, and fail on a folder. */
export function refuseUnlessFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw usage(`${path} is no regular file: name another one, or - and send standard output there`);
}

/** `countsDigest`: of the file as a whole. */
export function fileOutput(path: string, countsDigest = false): BundleOutput {
  const file = resolve(path);
  const partial = `${file}.partial`;
  mkdirSync(dirname(file), { recursive: true });
  rmSync(partial, { force: true });
  const opened = openSync(partial, 'wx');
  const sha256 = countsDigest ? createHash('sha256') : undefined;
  const isOwn = () => statSync(partial, { throwIfNoEntry: false })?.ino === fstatSync(opened).ino;
  return {
    async write(bytes) {
      sha256?.update(bytes);
      for (let done = 0; done < bytes.length; ) done += writeSync(opened, bytes, done);
    },
    async finish() {
      fsyncSync(opened);
      if (!isOwn()) throw new AssayError('ASSAY_USAGE', `another export writes ${file} at the same time`);
      renameSync(partial, file);
      closeSync(opened);
      await syncFolder(dirname(file));
      return sha256?.digest('hex');
    },
    abort() {
      if (isOwn()) rmSync(partial, { force: true });
      closeSync(opened);
    },
  };
}

/** A pipe that its reader has closed ends the export. */
export function standardOutput(): BundleOutput {
  const { stdout } = process;
  let failure: Error | undefined;
  stdout.on('error', (error) => {
    failure = error;
  });
  return {
    write: (bytes) =>
      new Promise((done, fail) => {
        if (failure) fail(failure);
        else stdout.write(bytes, (error) => (error ? fail(error) : done()));
      }),
    finish: async () => undefined,
    abort() {},
  };
}
