// Each option of an action reaches what runs: by its flag, from a step, from "defaults", and from a program.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { requestFor } from '../../../client/action/declaration.ts';
import { OPTION_DEFAULTS, OPTION_NAMES, OPTIONS } from '../../../client/action/fields.ts';
import { ACTION_FLAGS, parseAction, RUN_FLAGS } from '../../../client/commands/action-flags.ts';
import { requestOf } from '../../../client/config/request.ts';
import { loadWorkspace } from '../../../client/config/workspace.ts';
import { checkAction } from '../../../client/library/arguments.ts';
import { sourcesOf } from '../../project/sources.ts';
import { stepNamed } from '../config/step-named.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'assay-options-'));
});

afterEach(() => rmSync(root, { recursive: true }));

const CASES = OPTION_NAMES.map((name) => {
  const { flag, words, values } = OPTIONS[name];
  const value = values.find((one) => one !== OPTION_DEFAULTS[name]);
  const [word] = Object.entries(words).find(([, meaning]) => meaning === value) ?? [];
  return { name, value, arg: word === '' ? `--${flag}` : `--${flag}=${word}` };
});

async function requestFrom(config: object) {
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, 'assay.json'), JSON.stringify(config));
  const workspace = await loadWorkspace(root);
  return requestOf(stepNamed(workspace, 'one'), workspace, {});
}

describe.each(CASES)('$name', ({ name, value, arg }) => {
  test('is no default', () => {
    expect(value).toBeDefined();
    expect(requestFor({ command: ['true'], workspace: root })).toMatchObject({
      [name]: OPTION_DEFAULTS[name],
    });
  });

  test('counts as a flag, in a step, in "defaults", and from a program', async () => {
    const wanted = { [name]: value };
    const flags = { ...ACTION_FLAGS, ...RUN_FLAGS };
    expect(parseAction('run', [arg, '--', 'true'], flags).request).toMatchObject(wanted);
    const step = { command: 'true' };
    expect(await requestFrom({ steps: { one: { ...step, ...wanted } } })).toMatchObject(wanted);
    expect(await requestFrom({ defaults: wanted, steps: { one: step } })).toMatchObject(wanted);
    const declared = { command: ['true'], workspace: root, ...wanted };
    checkAction(declared);
    expect(requestFor(declared)).toMatchObject(wanted);
  });

  test('of a step wins over "defaults"', async () => {
    const steps = { one: { command: 'true', [name]: OPTION_DEFAULTS[name] } };
    const request = await requestFrom({ defaults: { [name]: value }, steps });
    expect(request).toMatchObject({ [name]: OPTION_DEFAULTS[name] });
  });

  test('is read by what runs', () => {
    const declares = /^client\/(action|commands|config|library)\//;
    const readers = sourcesOf('client').filter((file) => !declares.test(file));
    const use = new RegExp(`\\b${name}\\b`);
    const texts = readers.map((file) => readFileSync(join(import.meta.dirname, '../../..', file), 'utf8'));
    expect(texts.some((text) => use.test(text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')))).toBe(true);
  });
});

test('a word that no option has is refused, wherever it stands', async () => {
  expect(() => parseAction('run', ['--hermetic=loud', '--', 'true'], RUN_FLAGS)).toThrow(
    '--hermetic takes off, warn, strict, not "loud"',
  );
  expect(() => checkAction({ command: ['true'], hermetic: 'loud' })).toThrow(
    'hermetic takes one of off, warn, strict, not "loud"',
  );
  const steps = { one: { command: 'true', hermetic: 'loud' } };
  await expect(requestFrom({ steps })).rejects.toThrow('one of off, warn, strict is expected here');
});
