// A dump of a database, as an operator makes one with pg_dump, and its restore.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export class Dump {
  readonly #folder = mkdtempSync(join(tmpdir(), 'assay-test-dump-'));

  static async of(url: string): Promise<Dump> {
    const dump = new Dump();
    await run('pg_dump', ['--format=custom', `--file=${dump.#file}`, `--dbname=${url}`]);
    return dump;
  }

  private constructor() {}

  get #file(): string {
    return join(this.#folder, 'dump');
  }

  /** Replaces the tables that are there. */
  async restoreInto(url: string): Promise<void> {
    await run('pg_restore', ['--clean', '--if-exists', '--no-owner', `--dbname=${url}`, this.#file]);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
