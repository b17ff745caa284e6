// Earlier outputs of a workspace beside which nothing can be kept (staging.ts): copies among the temporary files, where a
// command that looks through the workspace does not find them. No rename leads there.
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { removeTemporaryFolder, temporaryFolder } from '../../hermeticity/system/temporary-folder.ts';

export class Shelter {
  #root: string | undefined;
  #count = 0;

  /** Takes it away from where it lies; answers where it lies now. */
  takeIn(path: string): string {
    this.#root ??= temporaryFolder('earlier');
    const place = join(this.#root, String(this.#count++));
    copy(path, place);
    rmSync(path, { recursive: true });
    return place;
  }

  remove(): void {
    if (this.#root !== undefined) removeTemporaryFolder(this.#root);
  }
}

export function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}
