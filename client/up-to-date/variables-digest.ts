// The values of declared variables as one digest. The values themselves may be secret and are not stored.
import { digestOf } from '../../core/digest.ts';
import { keyedEnvironment, type Variables } from '../action/environment.ts';
import type { DeclaredVariable } from '../action/request.ts';

/** `declared` may throw, and so may a value: then no recorded digest is equal. */
export function variablesDigest(declared: () => readonly DeclaredVariable[], caller: Variables): string {
  try {
    const variables = declared();
    if (variables.length === 0) return '';
    return digestOf(Buffer.from(JSON.stringify(keyedEnvironment(variables, caller)))).hash;
  } catch {
    return 'refused';
  }
}
