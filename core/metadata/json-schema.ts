// JSON Schema with the type of what it describes: a form of JSON is written once, and gives its TypeScript type, the check
// of a request and its description in OpenAPI.
//
// The type exists for the compiler alone. A schema is a plain object that fastify and OpenAPI take as it is.

declare const DESCRIBED: unique symbol;

export interface JsonSchema<Value> {
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema<unknown>;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema<unknown>>>;
  readonly additionalProperties?: boolean;
  /** No schema has it. */
  readonly [DESCRIBED]?: Value;
}

/** The type that a schema describes. */
export type Described<S> = S extends JsonSchema<infer Value> ? Value : never;

/** A field of an object that may be absent. */
interface Optional<Value> {
  readonly optional: JsonSchema<Value>;
}

type Fields = Readonly<Record<string, JsonSchema<unknown> | Optional<unknown>>>;

type OptionalNames<F extends Fields> = {
  [Name in keyof F]: F[Name] extends Optional<unknown> ? Name : never;
}[keyof F];

type ValueOf<Field> = Field extends Optional<infer Value> ? Value : Described<Field>;

/** What an object with these fields is. */
type ObjectOf<F extends Fields> = {
  readonly [Name in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[Name]>;
} & {
  readonly [Name in OptionalNames<F>]?: ValueOf<F[Name]>;
};

export const STRING: JsonSchema<string> = { type: 'string' };
export const NUMBER: JsonSchema<number> = { type: 'number' };
export const BOOLEAN: JsonSchema<boolean> = { type: 'boolean' };

export function boundedText(maxLength: number): JsonSchema<string> {
  return { type: 'string', maxLength };
}

export function oneOf<const Word extends string>(words: readonly Word[]): JsonSchema<Word> {
  return { type: 'string', enum: words };
}

export function listOf<Item>(items: JsonSchema<Item>, maxItems?: number): JsonSchema<readonly Item[]> {
  return { type: 'array', items, ...(maxItems !== undefined && { maxItems }) };
}

export function optionalField<Value>(schema: JsonSchema<Value>): Optional<Value> {
  return { optional: schema };
}

export function object<F extends Fields>(fields: F): JsonSchema<ObjectOf<F>> {
  const named = Object.entries(fields);
  return {
    type: 'object',
    required: named.flatMap(([name, field]) => ('optional' in field ? [] : name)),
    properties: Object.fromEntries(
      named.map(([name, field]) => [name, 'optional' in field ? field.optional : field]),
    ),
  };
}

/** An object that has no other fields. */
export function closed<F extends Fields>(fields: F): JsonSchema<ObjectOf<F>> {
  return { ...object(fields), additionalProperties: false };
}

/** The fields of `base`, and more. */
export function extended<Base, F extends Fields>(
  base: JsonSchema<Base>,
  fields: F,
): JsonSchema<Base & ObjectOf<F>> {
  const { required = [], properties } = object(fields);
  return {
    type: 'object',
    required: [...(base.required ?? []), ...required],
    properties: { ...base.properties, ...properties },
  };
}

/** The same form without bounds: those of a request are none of the answers. */
export function unbounded<Value>({
  type,
  enum: words,
  items,
  required,
  properties,
}: JsonSchema<Value>): JsonSchema<Value> {
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, unbounded(field)]);
  return {
    ...(type && { type }),
    ...(words && { enum: words }),
    ...(items && { items: unbounded(items) }),
    ...(required && { required }),
    ...(properties && { properties: Object.fromEntries(fields) }),
  };
}
