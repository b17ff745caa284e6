import { describe, expect, test } from 'vitest';
import { type Declaration, encodeAction } from '../../core/action.ts';
import { digestOf, EMPTY } from '../../core/digest.ts';
import { KEY_VERSION } from '../../core/key-version.ts';
import { parseRelPath } from '../../core/path.ts';
import { Action, Command } from '../../core/proto/generated/reapi.ts';

const paths = (...texts: string[]) => texts.map(parseRelPath);

const BASE: Declaration = {
  arguments: ['cc', '-c', 'main.c'],
  workingDirectory: parseRelPath('src'),
  environment: [
    { name: 'CFLAGS', value: '-O2' },
    { name: 'LANG', value: 'C' },
  ],
  outputs: paths('src/main.o', 'log'),
  platform: [
    { name: 'os', value: 'linux' },
    { name: 'tool:cc', value: 'abc' },
  ],
  inputRoot: EMPTY,
};

const keyOf = (changed: Partial<Declaration>) => encodeAction({ ...BASE, ...changed }).key.hash;

describe('the key does not differ by', () => {
  test.each<[string, Partial<Declaration>]>([
    ['the order of variables', { environment: [...BASE.environment].reverse() }],
    ['the order of outputs', { outputs: [...BASE.outputs].reverse() }],
    ['an output said twice', { outputs: [...BASE.outputs, ...BASE.outputs] }],
    ['the order of platform properties', { platform: [...BASE.platform].reverse() }],
  ])('%s', (_, changed) => {
    expect(keyOf(changed)).toBe(keyOf({}));
  });
});

describe('the key differs by', () => {
  test.each<[string, Partial<Declaration>]>([
    ['an argument', { arguments: ['cc', '-c', 'other.c'] }],
    ['the order of arguments', { arguments: ['cc', 'main.c', '-c'] }],
    ['where one argument ends', { arguments: ['cc', '-cmain.c'] }],
    ['the working directory', { workingDirectory: parseRelPath('lib') }],
    [
      'a variable’s value',
      {
        environment: [
          { name: 'CFLAGS', value: '-O3' },
          { name: 'LANG', value: 'C' },
        ],
      },
    ],
    [
      'a variable’s name',
      {
        environment: [
          { name: 'CXXFLAGS', value: '-O2' },
          { name: 'LANG', value: 'C' },
        ],
      },
    ],
    ['a variable less', { environment: [{ name: 'CFLAGS', value: '-O2' }] }],
    ['a variable that is there but empty', { environment: [...BASE.environment, { name: 'X', value: '' }] }],
    ['an output', { outputs: paths('src/main.o') }],
    [
      'the platform',
      {
        platform: [
          { name: 'os', value: 'darwin' },
          { name: 'tool:cc', value: 'abc' },
        ],
      },
    ],
    [
      'a tool',
      {
        platform: [
          { name: 'os', value: 'linux' },
          { name: 'tool:cc', value: 'abd' },
        ],
      },
    ],
    ['the inputs', { inputRoot: digestOf(Buffer.from('another folder')) }],
  ])('%s', (_, changed) => {
    expect(keyOf(changed)).not.toBe(keyOf({}));
  });

  test('a variable that became a platform property', () => {
    const { environment, platform } = BASE;
    expect(keyOf({ environment: platform, platform: environment })).not.toBe(keyOf({}));
  });
});

describe('the messages', () => {
  const encoded = encodeAction(BASE);
  const action = Action.decode(encoded.action);
  const command = Command.decode(encoded.command);

  test('the key is the digest of the Action, which names the Command by digest', () => {
    expect(encoded.key).toEqual(digestOf(encoded.action));
    expect(action.commandDigest?.hash).toBe(digestOf(encoded.command).hash);
    expect(action.inputRootDigest?.hash).toBe(EMPTY.hash);
  });

  test('the salt carries the version of the key', () => {
    expect(action.salt.toString()).toBe(KEY_VERSION);
  });

  test('outputs are relative to the working directory, sorted', () => {
    expect(command.workingDirectory).toBe('src');
    expect(command.outputPaths).toEqual(['../log', 'main.o']);
  });

  test('everything else is encoded as declared', () => {
    expect(command.arguments).toEqual(BASE.arguments);
    expect(command.environmentVariables.map(({ name, value }) => ({ name, value }))).toEqual(
      BASE.environment,
    );
    expect(action.platform?.properties.map(({ name, value }) => ({ name, value }))).toEqual(BASE.platform);
    expect(action.doNotCache).toBe(false);
  });
});
