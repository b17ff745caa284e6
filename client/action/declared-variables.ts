// What may stand where a variable is declared: NAME, PREFIX_* for all that the caller has set and that begin so, or
// NAME=VALUE. Anything else is refused: taken for a name it would be one that nobody sets, so the command would see nothing
// of what was meant, and its result would be kept under a key that does not hold it.
import { AssayError } from '../../core/errors.ts';
import type { DeclaredVariable } from './request.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** More than POSIX asks for (npm and bash export stranger ones), less what people write when they mean something else. */
const NAME = /[^\s=,$?*{}[\]()"'`\\!;|&<>%#-][^\s=,$?*{}[\]()"'`\\!;|&<>]*/.source;

/** As editors know it, by the schema. */
export const DECLARATION_PATTERN = `^${NAME}(\\*|=[\\s\\S]*)?$`;

const DECLARATION = new RegExp(DECLARATION_PATTERN);

/** Why it declares no variable, and what to write instead; undefined if it does. */
export function whyNotAVariable(text: string): string | undefined {
  if (isNeverPassed(text.replace(/=.*/s, '')))
    return `${text.replace(/[=*].*/s, '')} is never passed to a command`;
  if (DECLARATION.test(text)) return undefined;
  const name = text.replace(/=.*/s, '');
  return `${JSON.stringify(name)} is no variable’s name: ${hint(name)}`;
}

function hint(name: string): string {
  if (name === '') return 'it is empty; take it out, or write the name';
  if (name === '*')
    return 'with the whole environment in the key no two machines would share a result; name the variables, or a beginning such as VITE_*';
  const meant = /^(?:\$\{?|%)(\w+)[}%]?$/.exec(name)?.[1];
  if (meant !== undefined) return `write the name alone, ${JSON.stringify(meant)}`;
  if (/[\s,;|]/.test(name)) return 'each variable is an entry of its own';
  if (/[*?[\]{}]/.test(name))
    return 'a pattern is a beginning with one "*" at its end, such as VITE_*, and has no value';
  if (name.startsWith('!')) return 'what is not declared is hidden anyway';
  return 'it is made of letters, digits and "_"';
}

/** A declaration by its text. Refuses what is none. */
export function parseVariable(text: string): DeclaredVariable {
  const why = whyNotAVariable(text);
  if (why !== undefined) throw new AssayError('ASSAY_USAGE', why);
  const at = text.indexOf('=');
  return at === -1 ? { name: text } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

/**
 * The variables that patterns stand for, in their place. One that is declared by its name is not taken again. Assay's own
 * variables are its own affair: a pattern does not reach them.
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
 * Assay's own access to a remote, for which no action has a use; and a name that Bun passes to no process, so that one
 * form of Assay would run what the other would not.
 */
export function isNeverPassed(name: string): boolean {
  return name === 'ASSAY_TOKEN' || name === '__proto__' || /^ASSAY_\w*\*$/.test(name);
}
