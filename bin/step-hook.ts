// The hook of the wings of this build around the commands of steps, for the commands of the trunk and the library; and the
// functions that wings add to the library. The list of wings is loaded by the first step that needs it, so a hit loads none.
import type { LibraryPort } from '../client/library/library-port.ts';
import type { StepHook } from '../client/run/step-hook.ts';

export async function stepHook(): Promise<StepHook> {
  const { STEP_HOOKS } = await import('./wings.ts');
  const all: StepHook = {};
  return Object.assign(all, ...STEP_HOOKS);
}

export async function libraryPort(): Promise<LibraryPort> {
  const { LIBRARIES } = await import('./wings.ts');
  const all: LibraryPort = {};
  return Object.assign(all, ...LIBRARIES);
}
