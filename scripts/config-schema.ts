// Prints the JSON schema of assay.json from the table of its fields. `npm run generate` writes it to
// client/config/assay.schema.json, and a test compares the committed file with this output.

import { DECLARATION_PATTERN } from '../client/action/declared-variables.ts';
import { DEFAULT_FIELDS } from '../client/action/fields.ts';
import { HERMETIC } from '../client/action/request.ts';
import {
  CHECKPOINT_FIELDS,
  FILE_FIELDS,
  type Field,
  type FieldKind,
  STEP_FIELDS,
} from '../client/config/fields.ts';

type Schema = Readonly<Record<string, unknown>>;

const TEXTS: Schema = { type: 'array', items: { type: 'string' } };

const KINDS: Readonly<Record<FieldKind, () => Schema>> = {
  text: () => ({ type: 'string' }),
  texts: () => TEXTS,
  variables: () => ({ type: 'array', items: { type: 'string', pattern: DECLARATION_PATTERN } }),
  flag: () => ({ type: 'boolean' }),
  count: () => ({ type: 'integer', minimum: 1 }),
  command: () => ({
    anyOf: [
      { type: 'string', minLength: 1 },
      { ...TEXTS, minItems: 1 },
    ],
  }),
  object: () => ({ type: 'object' }),
  hermetic: () => ({ enum: [...HERMETIC] }),
  checkpoint: () => ({ ...objectOf(CHECKPOINT_FIELDS), required: ['folders'] }),
  step: () => objectOf(DEFAULT_FIELDS),
  steps: () => ({ type: 'object', additionalProperties: objectOf(STEP_FIELDS) }),
};

export function configSchema(): string {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'assay.json: the steps of a repository',
    ...objectOf(FILE_FIELDS),
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function objectOf(fields: Readonly<Record<string, Field>>): Schema {
  const properties = Object.entries(fields).map(([name, { kind, text }]) => [
    name,
    { description: sentence(text), ...KINDS[kind]() },
  ]);
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) };
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

if (import.meta.main) process.stdout.write(configSchema());
