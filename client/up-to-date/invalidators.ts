// What invalidates every recorded state: another version of Assay or of the key, another platform, another
// PATH.
import { KEY_VERSION } from '../../core/key-version.ts';
import { VERSION } from '../../core/version.ts';
import type { Variables } from '../action/environment.ts';
import { platformProperties } from '../action/platform.ts';

export function invalidatorsOf({ PATH = '' }: Variables): string {
  return JSON.stringify([VERSION, KEY_VERSION, platformProperties(), PATH]);
}
