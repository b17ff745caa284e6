// A list of paths as a tree that folds, by the browser's own means.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { bytes, counted } from '../../../core/text/amounts.ts';
import type { FileRow } from '../api/schemas/action.ts';

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly files: { readonly name: string; readonly row: FileRow }[];
}

/** A tree with no more files than this is unfolded. */
const OPEN_FILES = 12;

export function fileTree(rows: readonly FileRow[]): Html {
  if (rows.length === 0) return html`<p class="faint">It has none.</p>`;
  const root = newFolder();
  for (const row of rows) add(root, row);
  return html`<ul class="tree">${content(root, rows.length <= OPEN_FILES)}</ul>`;
}

function newFolder(): Folder {
  return { folders: new Map(), files: [] };
}

function add(root: Folder, row: FileRow): void {
  const parts = row.path.split('/');
  const name = parts.pop() ?? '';
  let folder = root;
  for (const part of parts) {
    const next = folder.folders.get(part) ?? newFolder();
    folder.folders.set(part, next);
    folder = next;
  }
  folder.files.push({ name, row });
}

function content({ folders, files }: Folder, isOpen: boolean): Html[] {
  const inner = [...folders].map(([name, folder]) => {
    const inside = html`<summary><code>${name}/</code> <span class="note">${counted(countFiles(folder), 'file')}</span></summary><ul>${content(folder, isOpen)}</ul>`;
    return isOpen
      ? html`<li><details open>${inside}</details></li>`
      : html`<li><details>${inside}</details></li>`;
  });
  const own = files.map(({ name, row: { size, target, hash } }) => {
    const to = target === undefined ? NOTHING : html` → <code>${target}</code>`;
    const note =
      size === undefined ? NOTHING : html`<span class="note" title="${hash}">${bytes(size)}</span>`;
    return html`<li><code>${name}</code>${to}${note}</li>`;
  });
  return [...inner, ...own];
}

function countFiles({ folders, files }: Folder): number {
  return [...folders.values()].reduce((sum, folder) => sum + countFiles(folder), files.length);
}
