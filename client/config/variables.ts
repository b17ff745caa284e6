// The variables that a step declares, from the texts in assay.json.
import { expandPatterns, parseVariable } from '../action/declared-variables.ts';
import type { Variables } from '../action/environment.ts';
import type { DeclaredVariable } from '../action/request.ts';

/** A variable that is declared by name and with a value has the value. */
export function variablesOf(env: readonly string[], caller: Variables): DeclaredVariable[] {
  const found = new Map<string, DeclaredVariable>();
  for (const text of env) {
    const one = parseVariable(text);
    if (one.value !== undefined || !found.has(one.name)) found.set(one.name, one);
  }
  return [...expandPatterns([...found.values()], caller)];
}
