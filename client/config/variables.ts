// Parses the variables that a step declares in "env".
import { expandPatterns, parseVariable } from '../action/declared-variables.ts';
import type { Variables } from '../action/environment.ts';
import type { DeclaredVariable } from '../action/request.ts';

/** A declaration with a value wins over one by name only. */
export function variablesOf(env: readonly string[], caller: Variables): DeclaredVariable[] {
  const found = new Map<string, DeclaredVariable>();
  for (const text of env) {
    const one = parseVariable(text);
    if (one.value !== undefined || !found.has(one.name)) found.set(one.name, one);
  }
  return [...expandPatterns([...found.values()], caller)];
}
