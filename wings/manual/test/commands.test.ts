// Every command and every flag that a page names is one that `assay` has.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FORMS } from '../../../test/rig/assay.ts';
import { commandPages } from '../site/commands.ts';
import { groupsOf } from '../site/pages.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Pages about versions that are gone, and decisions, which stay as they were written. */
const OF_THEIR_TIME = /^(?:CHANGELOG|decisions\/)/;

interface Command {
  readonly name: string;
  readonly help: string;
}

test('pages name only commands and flags that there are', () => {
  const commands = commandPages(help).map(({ title, text }) => ({
    name: title.replace('assay ', ''),
    help: text,
  }));
  const pages = groupsOf(ROOT, []).flatMap((group) => group.pages);
  const wrong = pages
    .filter(({ path }) => !OF_THEIR_TIME.test(path))
    .flatMap(({ source, text }) => faultsOf(text, commands).map((fault) => `${source}: ${fault}`));
  expect(wrong).toEqual([]);
});

test('a command or a flag that is none is found', () => {
  const commands = [{ name: 'run', help: '  --force  run it\n  --json[=short]  for machines' }];
  expect(faultsOf('`assay run --force --json -- make --none`', commands)).toEqual([]);
  expect(faultsOf('    npx assay run --forse x\n    assay rum', commands)).toEqual([
    'assay run --forse',
    'assay rum',
  ]);
});

function help(...args: readonly string[]): string {
  return execFileSync(FORMS.executable[0], [...args, '--help'], { encoding: 'utf8', env: {} });
}

/** Calls of `assay` in code: between backticks, or in an indented or fenced block. */
function faultsOf(text: string, commands: readonly Command[]): string[] {
  const code = [...text.matchAll(/`([^`\n]+)`/g), ...text.matchAll(/^(?: {4}|\$ )(.+)$/gm)];
  const lines = new Set(code.map(([, line = '']) => line));
  return [...lines].flatMap((line) => {
    const [, call] =
      /^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:npx )?(?:\S*\/)?assay ((?![-A-Z])[^|;&#]+)/.exec(line) ?? [];
    return call === undefined ? [] : faultsOfCall(call, commands);
  });
}

function faultsOfCall(call: string, commands: readonly Command[]): string[] {
  const [own = ''] = call.split(/ -- | --$/);
  const command = commands
    .filter(({ name }) => own === name || own.startsWith(`${name} `))
    .sort((one, other) => other.name.length - one.name.length)[0];
  if (!command) return [`assay ${own.trim()}`];
  const flags = [...own.matchAll(/(?<= )--[a-z][a-z-]*/g)].map(([flag]) => flag);
  return flags
    .filter((flag) => flag !== '--help' && !command.help.includes(flag))
    .map((flag) => `assay ${command.name} ${flag}`);
}
