// Prints the page of error codes from the catalogue. `npm run generate` writes it to docs/ERRORS.md.
// A test compares the committed page with what is printed here.
import { ERRORS, type ErrorEntry } from '../core/errors.ts';
import { grpcStatusOf } from '../core/grpc-status.ts';

const INTRODUCTION = `# Error codes

<!-- Written by scripts/errors-page.ts from core/errors.ts: \`npm run generate\`. -->

Every error of Assay has one of these codes. On the command line, the code begins the message. In an HTTP response, the
code is in the body, with the HTTP status given here. Over gRPC, the code begins the status message. A code never changes
its meaning, so scripts may match on it.
`;

export function errorsPage(): string {
  return [INTRODUCTION, ...Object.entries(ERRORS).map(section)].join('\n');
}

function section([code, entry]: [string, ErrorEntry]): string {
  const statuses = `HTTP status: ${entry.status}; gRPC status: ${grpcStatusOf(entry)}`;
  return `## ${code}\n\n${entry.summary}\n\n- What to do: ${entry.hint}\n- ${statuses}\n`;
}

if (import.meta.main) process.stdout.write(errorsPage());
