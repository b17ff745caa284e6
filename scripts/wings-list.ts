// Writes bin/wings.ts, the list of wings, from the folders of wings/ (`npm run generate` and `npm run build`).
// The list keeps the names of a missing wing's commands, so that Assay can say which build lacks them. To
// drop a wing for good, delete these lines by hand.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LibraryPort } from '../client/library/library-port.ts';
import type { StepHook } from '../client/run/step-hook.ts';
import type { Wing } from '../core/cli/wing.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'wings');
const LIST = join(ROOT, 'bin/wings.ts');

/** As the formatter breaks lines, with the line's end. */
const LINE_LENGTH = 111;

const INTRODUCTION = `// The wings of this build. Written by scripts/wings-list.ts from the folders of wings/: \`npm run generate\`.
// No other file names a wing. bin/assay.ts loads this list only for what the trunk lacks.
import type { LibraryPort } from '../client/library/library-port.ts';
import type { StepHook, StepHookPort } from '../client/run/step-hook.ts';
import type { Wing } from '../core/cli/wing.ts';
import type { EnginePort } from '../server/commands/engine-port.ts';
import type { IssuersPort } from '../server/config/issuers-port.ts';
import type { ServerPort } from '../server/server-port.ts';
`;

/** What the commands of a wing get, and what a wing may add beside them. */
const TYPE = `
export type Ports = StepHookPort;
type AnyWing = Wing<Ports> & Partial<EnginePort & IssuersPort & ServerPort>;
`;

/** `earlier`: the text of the list as it was. */
export async function wingsList(earlier: string): Promise<string> {
  const indexes = await indexesOfWings();
  const names = indexes.map(({ name }) => name);
  const owned = indexes.map(({ name, wing }) =>
    Object.keys(wing.commands).map((command) => ({ command, wing: name })),
  );
  const hooked = indexes.flatMap(({ name, stepHook }) => (stepHook ? [name] : []));
  const adding = indexes.flatMap(({ name, library }) => (library ? [name] : []));
  const importOf = (name: string) => {
    const imported = [
      `wing as ${identifier(name)}`,
      ...(hooked.includes(name) ? [`stepHook as ${hookOf(name)}`] : []),
      ...(adding.includes(name) ? [`library as ${libraryIn(name)}`] : []),
    ];
    const line = `import { ${imported.join(', ')} } from ${indexOf(name)};\n`;
    if (line.length <= LINE_LENGTH) return line;
    return `import {\n${imported.map((one) => `  ${one},\n`).join('')}} from ${indexOf(name)};\n`;
  };
  const missing = commandsIn(earlier).filter(({ wing }) => !names.includes(wing));
  const commands = [...owned.flat(), ...missing].sort((a, b) => (a.command < b.command ? -1 : 1));
  return [
    INTRODUCTION,
    ...names.map(importOf),
    TYPE,
    '\nexport const WINGS: Readonly<Record<string, AnyWing>> = ',
    table(names.map((name) => [name, identifier(name)])),
    '\n/** The library has these alone, without the commands. */\n',
    `export const STEP_HOOKS: readonly StepHook[] = [${hooked.map(hookOf).join(', ')}];\n`,
    '\n/** What the library has of wings. */\n',
    `export const LIBRARIES: readonly LibraryPort[] = [${adding.map(libraryIn).join(', ')}];\n`,
    '\n/** The wing of each command. A build lacks the commands of a wing that is not above. */\n',
    'export const WING_OF: Readonly<Record<string, string>> = ',
    table(commands.map(({ command, wing }) => [command, `'${wing}'`])),
  ].join('');
}

interface CommandOfWing {
  readonly command: string;
  readonly wing: string;
}

interface Index {
  readonly name: string;
  readonly wing: Wing;
  readonly stepHook?: StepHook;
  readonly library?: LibraryPort;
}

export function indexesOfWings(): Promise<Index[]> {
  const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return Promise.all(
    folders
      .map(({ name }) => name)
      .sort()
      .map(readIndex),
  );
}

async function readIndex(name: string): Promise<Index> {
  const { wing, stepHook, library } = await import(join(FOLDER, name, 'index.ts'));
  return { name, wing, stepHook, library };
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

function hookOf(name: string): string {
  return `${identifier(name)}Hook`;
}

function libraryIn(name: string): string {
  return `${identifier(name)}Library`;
}

/** `bazel-worker` is imported as bazelWorker. */
function identifier(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

if (import.meta.main)
  writeFileSync(LIST, await wingsList(existsSync(LIST) ? readFileSync(LIST, 'utf8') : ''));
