// Parses declared variables: NAME, NAME=VALUE, or PREFIX_* for all of the caller's variables with that
// prefix. Anything else is an error. Taken as a name, it would match no variable: the command would not get
// the value, and the key would not contain it.
import { AssayError } from '../../core/errors.ts';
import type { DeclaredVariable } from './request.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** More than POSIX allows, since npm and bash export other names; less than what users type by mistake. */
const NAME = /[^\s=,$?*{}[\]()"'`\\!;|&<>%#-][^\s=,$?*{}[\]()"'`\\!;|&<>]*/.source;

/** The pattern in the JSON schema. */
export const DECLARATION_PATTERN = `^${NAME}(\\*|=[\\s\\S]*)?$`;

const DECLARATION = new RegExp(DECLARATION_PATTERN);

/** Why the text declares no variable, and what to write instead; undefined if it does. */
export function whyNotAVariable(text: string): string | undefined {
  if (isNeverPassed(text.replace(/=.*/s, '')))
    return `${text.replace(/[=*].*/s, '')} is never passed to a command`;
  if (DECLARATION.test(text)) return undefined;
  const name = text.replace(/=.*/s, '');
  return `${JSON.stringify(name)} is not a variable name: ${hint(name)}`;
}

function hint(name: string): string {
  if (name === '') return 'it is empty; remove it, or write a name';
  if (name === '*')
    return 'with the whole environment in the key no two machines would share a result; name the variables, or a prefix such as VITE_*';
  const meant = /^(?:\$\{?|%)(\w+)[}%]?$/.exec(name)?.[1];
  if (meant !== undefined) return `write the name alone, ${JSON.stringify(meant)}`;
  if (/[\s,;|]/.test(name)) return 'write one entry for each variable';
  if (/[*?[\]{}]/.test(name))
    return 'a pattern is a prefix with one "*" at its end, such as VITE_*, and has no value';
  if (name.startsWith('!')) return 'undeclared variables are hidden anyway';
  return 'a name consists of letters, digits and "_"';
}

/** Parses a declaration. Throws if it is invalid. */
export function parseVariable(text: string): DeclaredVariable {
  const why = whyNotAVariable(text);
  if (why !== undefined) throw new AssayError('ASSAY_USAGE', why);
  const at = text.indexOf('=');
  return at === -1 ? { name: text } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

/**
 * Replaces patterns by the variables that they match. A variable that is declared by name is not added again.
 * A pattern never matches Assay's own variables.
 */
export function expandPatterns(
  declared: readonly DeclaredVariable[],
  caller: Variables,
): readonly DeclaredVariable[] {
  if (!declared.some(isPattern)) return declared;
  const taken = new Set(declared.map(({ name }) => name));
  return declared.flatMap((one) => {
    if (!isPattern(one)) return [one];
    const names = Object.keys(caller).filter((name) => name.startsWith(one.name.slice(0, -1)));
    const fresh = names.filter(
      (name) => !name.startsWith('ASSAY_') && !isNeverPassed(name) && !taken.has(name),
    );
    for (const name of fresh) taken.add(name);
    return fresh.sort().map((name) => ({ name }));
  });
}

function isPattern({ name, value }: DeclaredVariable): boolean {
  return value === undefined && name.endsWith('*');
}

/**
 * Assay's own token, which no action needs; and a name that Bun passes to no process, so that Node and Bun
 * would behave differently.
 */
export function isNeverPassed(name: string): boolean {
  return name === 'ASSAY_TOKEN' || name === '__proto__' || /^ASSAY_\w*\*$/.test(name);
}
