// Tool stamps: how a tool was searched and what was found, to check later that the same search finds the
// same.
import { EMPTY } from '../../core/digest.ts';
import type { RunRequest } from '../action/request.ts';
import { isOfOneFile, ownStamp, resolveTool, type Tool } from './tools.ts';

export interface ToolStamp {
  readonly name: string;
  readonly path: string;
  /** The base of names with a slash; "" for names that are searched on PATH. */
  readonly folder: string;
  /** Empty if nothing was found. */
  readonly stamp: string;
}

/** An action whose tools were found. */
interface ActionWithTools {
  readonly request: RunRequest;
  readonly tools: readonly [Tool, ...Tool[]];
}

/** Every tool search of an action, also those that found nothing. */
export function toolStamps(
  names: readonly string[],
  { request, tools }: ActionWithTools,
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

/** Without the tool's identity: reads only the first line of scripts. */
export function findTool({ name, path, folder }: Omit<ToolStamp, 'stamp'>): Tool | undefined {
  try {
    return resolveTool(name, { path, folder, digests: { digest: () => EMPTY } });
  } catch {
    return undefined;
  }
}

/** Whether the same search finds the same file with the same stat. Then its content is unchanged, too. */
export function isUnchanged(stamp: ToolStamp): boolean {
  if (!isOfOneFile(stamp.stamp)) return stampOf(stamp) === stamp.stamp;
  try {
    return ownStamp(stamp.name, stamp) === stamp.stamp;
  } catch {
    return false;
  }
}

/** A stamp covers the files' stats, not their contents. */
function stampOf({ name, path, folder }: Omit<ToolStamp, 'stamp'>): string {
  return findTool({ name, path, folder })?.stamp ?? '';
}
