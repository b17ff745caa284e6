// Prints the JSON schema of assay.json from the table of its fields. `npm run generate` writes it to
// client/config/assay.schema.json, and a test compares the committed file with this output.

import { DECLARATION_PATTERN } from '../client/action/declared-variables.ts';
import { DEFAULT_FIELDS } from '../client/action/fields.ts';
import {
  CHECKPOINT_FIELDS,
  FILE_FIELDS,
  type Field,
  type FieldKind,
  STEP_FIELDS,
} from '../client/config/fields.ts';
import {
  type FieldTable,
  FLAG,
  objectSchema,
  type Schema,
  schemaFile,
  TEXT,
  TEXTS,
} from '../core/config/schema.ts';

const KINDS: Readonly<Record<FieldKind, (field: Field) => Schema>> = {
  text: () => TEXT,
  texts: () => TEXTS,
  variables: () => ({ type: 'array', items: { type: 'string', pattern: DECLARATION_PATTERN } }),
  flag: () => FLAG,
  count: () => ({ type: 'integer', minimum: 1 }),
  command: () => ({
    anyOf: [
      { type: 'string', minLength: 1 },
      { ...TEXTS, minItems: 1 },
    ],
  }),
  object: () => ({ type: 'object' }),
  word: ({ values = [] }) => ({ enum: [...values] }),
  'flag-or-word': ({ values = [] }) => ({ enum: [...values] }),
  checkpoint: () => ({ ...objectOf(CHECKPOINT_FIELDS), required: ['folders'] }),
  step: () => objectOf(DEFAULT_FIELDS),
  steps: () => ({ type: 'object', additionalProperties: objectOf(STEP_FIELDS) }),
};

export function configSchema(): string {
  return schemaFile('assay.json: the steps of a repository', tableOf(FILE_FIELDS));
}

function objectOf(fields: Readonly<Record<string, Field>>): Schema {
  return objectSchema(tableOf(fields));
}

function tableOf(fields: Readonly<Record<string, Field>>): FieldTable {
  const table = Object.entries(fields).map(([name, field]) => [
    name,
    { text: field.text, schema: KINDS[field.kind](field) },
  ]);
  return Object.fromEntries(table);
}

if (import.meta.main) process.stdout.write(configSchema());
