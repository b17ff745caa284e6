// Prints the JSON schema of the server's configuration file from the table of its fields. `npm run generate`
// writes it to server/config/server.schema.json, and a test compares the committed file with this output.
import { schemaFile } from '../core/config/schema.ts';
import { SERVER_FIELDS } from '../server/config/fields.ts';

export function serverSchema(): string {
  return schemaFile('The configuration of assay serve', SERVER_FIELDS);
}

if (import.meta.main) process.stdout.write(serverSchema());
