// How a tool was searched for and what was found, so that it can be asked later whether the same search finds the same.
import { EMPTY } from '../../core/digest.ts';
import type { KeyedAction } from '../run/key.ts';
import { isOfOneFile, ownStamp, resolveTool, type Tool } from './tools.ts';

export interface ToolStamp {
  readonly name: string;
  readonly path: string;
  /** What names with a slash are relative to; "" for those that are searched on the path. */
  readonly folder: string;
  /** "": nothing was found. */
  readonly stamp: string;
}

/** Every search that was made for an action, also for those of the names that nothing was found for. */
export function toolStamps(
  names: readonly string[],
  { request, tools }: KeyedAction,
  path: string,
): ToolStamp[] {
  const { workspace, workingDirectory, command } = request;
  const [program, ...declared] = tools;
  const searches = [
    { name: command[0], folder: `${workspace}/${workingDirectory}`, stamp: program.stamp },
    ...names.map((name) => ({
      name,
      folder: workspace,
      stamp: declared.find((tool) => tool.name === name)?.stamp,
    })),
  ];
  return searches.map(({ name, folder, stamp }) => {
    const search = { name, path, folder: name.includes('/') ? folder : '' };
    return { ...search, stamp: stamp ?? stampOf(search) };
  });
}

/** Without its identity: nothing is read but first lines. */
export function findTool({ name, path, folder }: Omit<ToolStamp, 'stamp'>): Tool | undefined {
  try {
    return resolveTool(name, { path, folder, digests: { digest: () => EMPTY } });
  } catch {
    return undefined;
  }
}

/** Whether the same search finds the same. What it was read for cannot have changed in a file that looks the same. */
export function isUnchanged(stamp: ToolStamp): boolean {
  if (!isOfOneFile(stamp.stamp)) return stampOf(stamp) === stamp.stamp;
  try {
    return ownStamp(stamp.name, stamp) === stamp.stamp;
  } catch {
    return false;
  }
}

/** A stamp says what files look like, not what is in them. */
function stampOf({ name, path, folder }: Omit<ToolStamp, 'stamp'>): string {
  return findTool({ name, path, folder })?.stamp ?? '';
}
