// Writes bin/wings.ts, the list of wings, from the folders of wings/ (`npm run generate` and `npm run build`).
// The list keeps the names of a missing wing's commands, so that Assay can say which build lacks them. To
// drop a wing for good, delete these lines by hand.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Wing } from '../core/cli/wing.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'wings');
const LIST = join(ROOT, 'bin/wings.ts');

const INTRODUCTION = `// The wings of this build. Written by scripts/wings-list.ts from the folders of wings/: \`npm run generate\`.
// No other file names a wing. bin/assay.ts loads this list only for what the trunk lacks.
import type { Wing } from '../core/cli/wing.ts';
import type { EnginePort } from '../server/commands/engine-port.ts';
import type { IssuersPort } from '../server/config/issuers-port.ts';
`;

/** What a wing may add beside its commands. */
const TYPE = `
type AnyWing = Wing & Partial<EnginePort & IssuersPort>;
`;

/** `earlier`: the text of the list as it was. */
export async function wingsList(earlier: string): Promise<string> {
  const names = readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  const owned = await Promise.all(names.map(commandsOf));
  const missing = commandsIn(earlier).filter(({ wing }) => !names.includes(wing));
  const commands = [...owned.flat(), ...missing].sort((a, b) => (a.command < b.command ? -1 : 1));
  return [
    INTRODUCTION,
    ...names.map((name) => `import { wing as ${identifier(name)} } from ${indexOf(name)};\n`),
    TYPE,
    '\nexport const WINGS: Readonly<Record<string, AnyWing>> = ',
    table(names.map((name) => [name, identifier(name)])),
    '\n/** The wing of each command. A build lacks the commands of a wing that is not above. */\n',
    'export const WING_OF: Readonly<Record<string, string>> = ',
    table(commands.map(({ command, wing }) => [command, `'${wing}'`])),
  ].join('');
}

interface CommandOfWing {
  readonly command: string;
  readonly wing: string;
}

async function commandsOf(name: string): Promise<CommandOfWing[]> {
  const { wing }: { wing: Wing } = await import(join(FOLDER, name, 'index.ts'));
  return Object.keys(wing.commands).map((command) => ({ command, wing: name }));
}

/** The commands in a list, which is read as text: an earlier list may import a wing that is gone. */
export function commandsIn(list: string): CommandOfWing[] {
  const rows = list.matchAll(/^ {2}'?([a-z -]+)'?: '([a-z-]+)',$/gm);
  return [...rows].map(([, command = '', wing = '']) => ({ command, wing }));
}

/** The lines of an object, as the formatter writes them. */
function table(rows: readonly (readonly [key: string, value: string])[]): string {
  const lines = rows.map(([key, value]) =>
    key === value ? `  ${key},\n` : `  ${/[- ]/.test(key) ? `'${key}'` : key}: ${value},\n`,
  );
  return lines.length === 0 ? '{};\n' : `{\n${lines.join('')}};\n`;
}

function indexOf(name: string): string {
  return `'../wings/${name}/index.ts'`;
}

/** `bazel-worker` is imported as bazelWorker. */
function identifier(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

if (import.meta.main)
  writeFileSync(LIST, await wingsList(existsSync(LIST) ? readFileSync(LIST, 'utf8') : ''));
