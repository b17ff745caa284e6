// Remembers a whole scan: the stat of every path that it read, and the resulting digest. If every stat is the
// same again, the scan would give the same digest. One lstat per path is all that is needed
// (docs/decisions/0001).
//
// Written only if every path had settled before the scan began (files/settled.ts).
import { join } from 'node:path';
import { type Digest, digestOf, parseDigest } from '../../core/digest.ts';
import type { RunRequest } from '../action/request.ts';
import { isSettled } from '../files/settled.ts';
import { lstatIn, type StatRecorder } from '../files/stat-recorder.ts';
import {
  readTable,
  rowAt,
  rowMatches,
  rowOf,
  type StatRow,
  tableOf,
  writeTable,
} from '../files/stat-table.ts';

const MAGIC = 'assay-scan-2';

interface RememberedScan {
  readonly root: Digest;
  statRows(): ReadonlyMap<string, StatRow>;
}

export class ScanMemos {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The digest of the last scan of this declaration, if a scan now would see the same. */
  recall(request: RunRequest): RememberedScan | undefined {
    const table = readTable(this.#fileFor(request), MAGIC);
    if (!table) return undefined;
    for (let row = 0; row < table.names.length; row++) {
      const name = table.names[row] ?? '';
      if (!rowMatches(table, row, lstatIn(request.workspace, name))) return undefined;
    }
    const [hash = '', size = ''] = table.extra.toString('latin1').split('/');
    const root = parseDigest({ hash, sizeBytes: Number(size) });
    return { root, statRows: () => new Map(table.names.map((name, row) => [name, rowAt(table, row)])) };
  }

  remember(request: RunRequest, { recorded }: StatRecorder, root: Digest, beganAt: number): void {
    for (const stats of recorded.values()) if (stats && !isSettled(stats, beganAt)) return;
    const rows = new Map([...recorded].map(([name, stats]) => [name, rowOf(stats)]));
    const table = tableOf(rows, Buffer.from(`${root.hash}/${root.size}`));
    writeTable(this.#fileFor(request), MAGIC, table);
  }

  /** One file per workspace and declaration: everything that decides which paths a scan takes. */
  #fileFor({ workspace, inputs, includeIgnored, outputs }: RunRequest): string {
    const declaration = JSON.stringify([workspace, inputs, includeIgnored, outputs]);
    return join(this.#folder, digestOf(Buffer.from(declaration)).hash);
  }
}
