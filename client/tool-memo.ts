// Tools that were found a moment ago, by how they were searched for: the steps of a graph mostly use the same few. Forgotten
// when a command has run, which may have changed them. Whether a tool stayed the same while a command ran is never answered
// from here (key.ts looks again).
import type { ErrorCode } from '../core/errors.ts';
import { isFindable, resolveTool, type Tool, type ToolSearch } from './tools.ts';

export class ToolMemo {
  readonly #found = new Map<string, Tool>();
  readonly #findable = new Map<string, boolean>();

  resolve(name: string, search: ToolSearch, missing?: ErrorCode): Tool {
    const id = searchId(name, search);
    const found = this.#found.get(id) ?? resolveTool(name, search, missing);
    this.#found.set(id, found);
    return found;
  }

  isFindable(name: string, search: Pick<ToolSearch, 'path' | 'folder'>): boolean {
    const id = searchId(name, search);
    const found = this.#findable.get(id) ?? isFindable(name, search);
    this.#findable.set(id, found);
    return found;
  }

  forget(): void {
    this.#found.clear();
    this.#findable.clear();
  }
}

/** A name without a slash is searched on the path, wherever one stands. */
function searchId(name: string, { path, folder }: Pick<ToolSearch, 'path' | 'folder'>): string {
  return [name, path, name.includes('/') ? folder : ''].join('\0');
}
