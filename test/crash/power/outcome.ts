// What a disk may hold after a power loss at one moment of a recording.
//
// A change is certain if a sync that began after it has ended by then. Any other change that had begun may be
// present, missing, or partial: sectors and names change as a whole, and nothing is ordered between two
// syncs. A file that has grown without its bytes holds zeros or old bytes of another file.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../rig/random.ts';
import type { NameChange, Operation, Recording } from './recording.ts';

const SECTOR = 512;
const STALE = 0xa5;

/** What becomes of uncertain changes. */
export type Fate = 'lost' | 'kept' | Random;

type Write = Operation & { kind: 'write' };

export class Outcome {
  readonly #contents = new Map<number, { readonly bytes: Buffer; readonly length: number }>();
  readonly #names = new Map<number, Map<string, number>>();
  readonly #folders: ReadonlySet<number>;

  constructor({ operations, folders }: Recording, moment: number, fate: Fate) {
    this.#folders = folders;
    const syncs = operations.filter((one) => one.kind === 'sync' && one.ended < moment);
    const isSynced = (inode: number, ended: number) =>
      syncs.some((sync) => sync.kind === 'sync' && sync.inode === inode && sync.began > ended);
    for (const operation of operations) {
      if (operation.began >= moment) continue;
      const isOver = operation.ended < moment;
      if (operation.kind === 'names') {
        for (const change of this.#surviving(
          operation.changes,
          fate,
          (folder) => isOver && isSynced(folder, operation.ended),
        ))
          this.#rename(change);
      } else if (operation.kind === 'write') {
        const isCertain = isOver && (operation.isSynced || isSynced(operation.inode, operation.ended));
        this.#write(operation, isCertain ? 'kept' : fate);
      } else if (operation.kind === 'truncate') {
        const isCertain = isOver && isSynced(operation.inode, operation.ended);
        if (isCertain || survives(fate)) this.#resize(operation.inode, operation.size);
      }
    }
  }

  /** Below `folder`, which stands for the parent of the recorded folder. */
  layOut(folder: string): void {
    this.#layOut(folder, 0);
  }

  #layOut(path: string, inode: number): void {
    for (const [name, child] of this.#names.get(inode) ?? []) {
      const at = join(path, name);
      if (!this.#folders.has(child)) {
        const { bytes, length } = this.#contents.get(child) ?? { bytes: Buffer.alloc(0), length: 0 };
        writeFileSync(at, bytes.subarray(0, length));
      } else {
        mkdirSync(at);
        this.#layOut(at, child);
      }
    }
  }

  /** The new name of a rename comes first and is never missing alone; the old name may remain beside it. */
  #surviving(
    changes: readonly NameChange[],
    fate: Fate,
    isCertain: (folder: number) => boolean,
  ): readonly NameChange[] {
    if (changes.every(({ folder }) => isCertain(folder))) return changes;
    const [first] = changes;
    const isFirstThere = changes.some(({ folder }) => isCertain(folder)) || survives(fate);
    if (!first || !isFirstThere) return [];
    return survives(fate) ? changes : [first];
  }

  #rename({ folder, name, inode }: NameChange): void {
    const names = this.#names.get(folder) ?? new Map<string, number>();
    this.#names.set(folder, names);
    if (inode === undefined) names.delete(name);
    else names.set(name, inode);
  }

  #write({ inode, at, bytes }: Write, fate: Fate): void {
    if (fate === 'lost') return;
    if (fate === 'kept') {
      this.#grown(inode, at + bytes.length).set(bytes, at);
      return;
    }
    const turn = fate.below(10);
    if (turn < 3) return;
    const content = this.#grown(inode, at + bytes.length, fate.below(2) === 0 ? 0 : STALE);
    if (turn < 6) content.set(bytes, at);
    else if (turn < 9) this.#writeSectors(content, at, bytes, fate);
  }

  #writeSectors(content: Buffer, at: number, bytes: Buffer, random: Random): void {
    const likelihood = 1 + random.below(9);
    for (let from = at; from < at + bytes.length; ) {
      const to = Math.min(at + bytes.length, from - (from % SECTOR) + SECTOR);
      if (random.below(10) < likelihood) content.set(bytes.subarray(from - at, to - at), from);
      from = to;
    }
  }

  /** The file's memory, at least that large; the added part is filled. */
  #grown(inode: number, size: number, filler = 0): Buffer {
    const { bytes, length } = this.#contents.get(inode) ?? { bytes: Buffer.alloc(0), length: 0 };
    if (size <= length) return bytes;
    const roomy = size <= bytes.length ? bytes : Buffer.alloc(Math.max(size, 2 * bytes.length));
    if (roomy !== bytes) roomy.set(bytes);
    roomy.fill(filler, length, size);
    this.#contents.set(inode, { bytes: roomy, length: size });
    return roomy;
  }

  #resize(inode: number, size: number): void {
    this.#contents.set(inode, { bytes: this.#grown(inode, size), length: size });
  }
}

function survives(fate: Fate): boolean {
  return typeof fate === 'string' ? fate === 'kept' : fate.below(2) === 0;
}
