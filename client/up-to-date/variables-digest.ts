// The values of a step's declared variables as one digest. The values themselves may be secret and are not
// stored.
import { digestOf } from '../../core/digest.ts';
import { keyedEnvironment, type Variables } from '../action/environment.ts';
import { variablesOf } from '../config/variables.ts';

export function variablesDigest(env: readonly string[], caller: Variables): string {
  if (env.length === 0) return '';
  try {
    const keyed = keyedEnvironment(variablesOf(env, caller), caller);
    return digestOf(Buffer.from(JSON.stringify(keyed))).hash;
  } catch {
    return 'refused';
  }
}
