// A JSON file with comments, parsed to values that know their position. Every error names file, line and
// column.
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { suggestion } from '../cli/command.ts';
import { AssayError, type ErrorCode } from '../errors.ts';
import type { Problems } from './problems.ts';

export interface Document {
  /** The name that messages show. */
  readonly file: string;
  readonly text: string;
  /** The code of every refusal: ASSAY_CONFIG unless given. */
  readonly code?: ErrorCode;
  /** A program rewrites the file, so comments in it would be lost. */
  readonly refusesComments?: boolean;
}

/** A text with its position, so that a later check can still report the right line. */
export interface Located {
  readonly text: string;
  refuse(why: string): AssayError;
}

export function parseDocument(document: Document): ConfigValue {
  const errors: ParseError[] = [];
  const root = parseNodes(document, errors);
  const [first] = errors;
  if (first) throw refusal(document, first.offset, mistakeIn(first));
  if (!root) throw refusal(document, 0, 'the file is empty; an empty configuration is {}');
  return new ConfigValue(document, root);
}

/** The parser recurses, so a file that nests too deeply exhausts the stack. */
function parseNodes(document: Document, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(document.text, errors, {
      allowTrailingComma: true,
      disallowComments: document.refusesComments === true,
    });
  } catch (error) {
    throw error instanceof RangeError ? refusal(document, 0, 'the file nests too deeply') : error;
  }
}

const MISTAKES: Readonly<Record<string, string>> = {
  CloseBraceExpected: 'a "}" is missing here',
  CloseBracketExpected: 'a "]" is missing here',
  InvalidCommentToken: 'this file can’t hold comments',
  ColonExpected: 'a ":" is missing here',
  CommaExpected: 'a "," is missing here',
  EndOfFileExpected: 'text follows the last "}"',
  PropertyNameExpected: 'a name in "quotes" is expected here',
  UnexpectedEndOfComment: 'a comment is not closed',
  UnexpectedEndOfString: 'a text is not closed: a quote is missing',
  ValueExpected: 'a value is missing here',
};

function mistakeIn({ error }: ParseError): string {
  const name = printParseErrorCode(error);
  return MISTAKES[name] ?? `this is no JSON (${name})`;
}

export class ConfigValue {
  readonly #document: Document;
  readonly #node: Node;

  constructor(document: Document, node: Node) {
    this.#document = document;
    this.#node = node;
  }

  refuse(why: string): AssayError {
    return refusal(this.#document, this.#node.offset, why);
  }

  /** The fields of an object. A name that is not in `known` is an error, or one of `problems`. */
  fields<Name extends string>(
    known: Readonly<Record<Name, unknown>>,
    problems?: Problems,
  ): Partial<Record<Name, ConfigValue>> {
    const names = Object.keys(known);
    const found: Partial<Record<string, ConfigValue>> = {};
    for (const [name, { key, value }] of this.entries()) {
      if (names.includes(name)) found[name] = value;
      else {
        const why = `there is no field ${JSON.stringify(name)} here${suggestion(name, names, '')}`;
        if (!problems) throw key.refuse(why);
        problems.add(key.refuse(why));
      }
    }
    return found;
  }

  /** An object with free names. */
  entries(): Map<string, { key: ConfigValue; value: ConfigValue }> {
    if (this.#node.type !== 'object') throw this.refuse('an object { … } is expected here');
    const found = new Map<string, { key: ConfigValue; value: ConfigValue }>();
    for (const { children: [key, value] = [] } of this.#node.children ?? []) {
      if (!key || !value) continue;
      const at = new ConfigValue(this.#document, key);
      const name = String(key.value);
      if (found.has(name)) throw at.refuse(`${JSON.stringify(name)} is given twice`);
      found.set(name, { key: at, value: new ConfigValue(this.#document, value) });
    }
    return found;
  }

  text(expected = 'a text in "quotes"'): Located {
    const { type, value } = this.#node;
    if (type !== 'string') throw this.refuse(`${expected} is expected here`);
    if (value.includes('\0')) throw this.refuse('a text can’t hold NUL');
    return { text: value, refuse: (why) => this.refuse(why) };
  }

  /** A text, a number or a flag, as text. */
  scalarText(): string {
    const { type, value } = this.#node;
    if (type === 'boolean' || (type === 'number' && Number.isSafeInteger(value))) return String(value);
    return this.text('a text, a number, true or false').text;
  }

  texts(): Located[] {
    return this.list('a list of texts').map((item) => item.text());
  }

  list(expected = 'a list'): ConfigValue[] {
    if (!this.isList) throw this.refuse(`${expected} [ … ] is expected here`);
    return (this.#node.children ?? []).map((child) => new ConfigValue(this.#document, child));
  }

  oneOf<T extends string>(known: readonly T[]): T {
    const { text } = this.text();
    const found = known.find((word) => word === text);
    if (found === undefined) throw this.refuse(`one of ${known.join(', ')} is expected here`);
    return found;
  }

  get isFlag(): boolean {
    return this.#node.type === 'boolean';
  }

  flag(): boolean {
    if (this.#node.type !== 'boolean') throw this.refuse('true or false is expected here');
    return this.#node.value === true;
  }

  count(): number {
    return this.#whole(1, Number.MAX_SAFE_INTEGER, 'of at least 1');
  }

  number(least: number, most: number): number {
    return this.#whole(least, most, `from ${least} to ${most}`);
  }

  #whole(least: number, most: number, range: string): number {
    const { type, value } = this.#node;
    if (type !== 'number' || !Number.isSafeInteger(value) || value < least || value > most)
      throw this.refuse(`a whole number ${range} is expected here`);
    return value;
  }

  get isList(): boolean {
    return this.#node.type === 'array';
  }
}

function refusal({ file, text, code = 'ASSAY_CONFIG' }: Document, offset: number, why: string): AssayError {
  const before = text.slice(0, offset).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  return new AssayError(code, `${file}:${before.length}:${column}: ${why}`);
}
