// The JSON schema of a configuration, from a table of its fields. The reader uses the same table, so editors
// and Assay know the same fields.

export type Schema = Readonly<Record<string, unknown>>;

interface Field {
  /** A phrase without a full stop at the end. */
  readonly text: string;
  readonly schema: Schema;
  readonly isRequired?: boolean;
}

export type FieldTable = Readonly<Record<string, Field>>;

export const TEXT: Schema = { type: 'string' };
export const TEXTS: Schema = { type: 'array', items: TEXT };
export const FLAG: Schema = { type: 'boolean' };

export function objectSchema(fields: FieldTable): Schema {
  const entries = Object.entries(fields);
  const required = entries.flatMap(([name, { isRequired }]) => (isRequired ? [name] : []));
  const properties = entries.map(([name, { text, schema }]) => [
    name,
    { description: sentence(text), ...schema },
  ]);
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
  };
}

export function listSchema(items: Schema): Schema {
  return { type: 'array', items };
}

export function schemaFile(title: string, fields: FieldTable): string {
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', title, ...objectSchema(fields) };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
