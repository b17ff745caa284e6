// The properties whose change invalidates every recorded state: another version of Assay or of the key, another platform, another
// PATH, another machine, user or home, other limits or another priority.
// The machine is known by its host name and by the kernel's boot id: the same boot has the same processors.
import { hostname, release } from 'node:os';
import { KEY_VERSION } from '../../core/key-version.ts';
import { VERSION } from '../../core/version.ts';
import { bootId } from '../../system/process/boot-id.ts';
import { userName, userOfProcess } from '../../system/process/password-file.ts';
import type { Variables } from '../action/environment.ts';
import { platformProperties } from '../action/platform.ts';
import { domainName } from '../path-sets/machine.ts';
import { processState } from '../path-sets/process-state.ts';

export function invalidatorsOf({ PATH = '', HOME = '' }: Variables): string {
  const user = [userName(), userOfProcess()?.home, HOME, processState()];
  const machine = [hostname(), domainName(), release(), bootId()];
  return JSON.stringify([VERSION, KEY_VERSION, platformProperties(), PATH, user, machine]);
}
