// Prints the page of error codes from the catalogue; `npm run generate` writes it to docs/ERRORS.md, and a test holds
// the committed page to what is printed here.
import { ERRORS, type ErrorEntry } from '../core/errors.ts';
import { grpcStatusOf } from '../core/grpc/status.ts';

const INTRODUCTION = `# Error codes

<!-- Written by scripts/errors-page.ts from core/errors.ts: \`npm run generate\`. -->

Everything that Assay refuses or reports has one of these codes. On the command line it stands at the start of the
message, in an answer of the server in the JSON body, with the status given here; over gRPC it begins the message of the
status. Codes do not change their meaning, so scripts may match on them.
`;

export function errorsPage(): string {
  return [INTRODUCTION, ...Object.entries(ERRORS).map(section)].join('\n');
}

function section([code, entry]: [string, ErrorEntry]): string {
  const statuses = `HTTP status: ${entry.status}; gRPC status: ${grpcStatusOf(entry)}`;
  return `## ${code}\n\n${entry.summary}\n\n- What to do: ${entry.hint}\n- ${statuses}\n`;
}

if (import.meta.main) process.stdout.write(errorsPage());
