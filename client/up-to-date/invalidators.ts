// What every memory of a hit depends on besides what it is about: another Assay, another machine or another
// PATH may decide otherwise.
import { KEY_VERSION } from '../../core/key-version.ts';
import { VERSION } from '../../core/version.ts';
import type { Variables } from '../action/environment.ts';
import { platformProperties } from '../action/platform.ts';

export function invalidatorsOf({ PATH = '' }: Variables): string {
  return JSON.stringify([VERSION, KEY_VERSION, platformProperties(), PATH]);
}
