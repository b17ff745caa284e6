// How a tool was searched for and what was found, so that it can be asked later whether the same search finds the same.
import { EMPTY } from '../../core/digest.ts';
import { resolveTool } from '../tools.ts';

export interface ToolLook {
  readonly name: string;
  readonly path: string;
  /** What names with a slash are relative to; "" for those that are searched on the path. */
  readonly folder: string;
  /** "": nothing was found. */
  readonly stamp: string;
}

/** A stamp says what files look like, not what is in them: nothing is read but first lines. */
export function stampOf({ name, path, folder }: Omit<ToolLook, 'stamp'>): string {
  try {
    return resolveTool(name, { path, folder, digests: { digest: () => EMPTY } }).stamp;
  } catch {
    return '';
  }
}
