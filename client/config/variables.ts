// The variables that a step declares: NAME, NAME=VALUE, or a pattern that stands for what the caller has set.
import picomatch from 'picomatch';
import type { Variables } from '../environment.ts';
import type { DeclaredVariable } from '../request.ts';

/** A variable that is declared by name and with a value has the value. */
export function variablesOf(env: readonly string[], caller: Variables): DeclaredVariable[] {
  const found = new Map<string, DeclaredVariable>();
  for (const text of env) {
    const at = text.indexOf('=');
    if (at > 0) found.set(text.slice(0, at), { name: text.slice(0, at), value: text.slice(at + 1) });
    else for (const name of namesFor(text, caller)) if (!found.has(name)) found.set(name, { name });
  }
  return [...found.values()];
}

/** Assay's own variables are its own affair: a pattern does not reach them. */
function namesFor(text: string, caller: Variables): string[] {
  if (!text.includes('*')) return [text];
  const matches = picomatch(text, { nobrace: true, noext: true, nobracket: true, dot: true });
  return Object.keys(caller)
    .filter((name) => matches(name) && !name.startsWith('ASSAY_'))
    .sort();
}
