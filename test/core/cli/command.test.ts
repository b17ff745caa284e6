import { describe, expect, test } from 'vitest';
import {
  type FlagTable,
  parseFlags,
  parseNumber,
  renderHelp,
  suggestion,
} from '../../../core/cli/command.ts';

const FLAGS: FlagTable = {
  input: { type: 'string', multiple: true, value: 'GLOB', text: 'an input' },
  store: { type: 'string', value: 'DIR', text: 'the store' },
  json: { type: 'boolean', text: 'for machines' },
};

const parse = (...args: string[]) => parseFlags(args, FLAGS);

describe('flags', () => {
  test('in both spellings, in any order, before the command', () => {
    const flags = parse('--input', 'a', '--json', '--input=b', '--store=/x', '--', 'cc', '--json', '-c');
    expect(flags.all('input')).toEqual(['a', 'b']);
    expect(flags.text('store')).toBe('/x');
    expect(flags.given('json')).toBe(true);
    expect(flags.positionals).toEqual(['cc', '--json', '-c']);
  });

  test('that were not given', () => {
    const flags = parse();
    expect(flags.all('input')).toEqual([]);
    expect(flags.text('store')).toBeUndefined();
    expect(flags.given('json')).toBe(false);
  });

  test('mixed with other words', () => {
    expect(parse('a', '--json', '-', '--input', 'b', 'c').positionals).toEqual(['a', '-', 'c']);
    expect(parse('--', '--', '-').positionals).toEqual(['--', '-']);
  });

  test('with a value that holds "=" or begins with "-"', () => {
    expect(parse('--input=A=B').all('input')).toEqual(['A=B']);
    expect(parse('--input=-x').all('input')).toEqual(['-x']);
  });

  test.each([
    [['--inptu', 'a'], /unknown flag --inptu; did you mean --input\?/],
    [['--zzz'], /unknown flag --zzz$/],
    [['-x'], /unknown flag -x/],
    [['--no-json'], /unknown flag --no-json/],
    [['--__proto__', 'x'], /unknown flag --__proto__/],
    [['--constructor=x'], /unknown flag --constructor/],
    [['--json=yes'], /--json takes no value/],
    [['--store'], /--store needs a value: --store DIR/],
    [['--store='], /--store needs a value/],
    [['--store', 'a', '--store', 'b'], /--store is given twice/],
    [['--json', '--json'], /--json is given twice/],
    [['--input', '--json'], /--input is followed by --json; if that is its value, write --input=--json/],
    [['--input', '--', 'cc'], /--input is followed by --;/],
    [['-input', 'a'], /unknown flag -input/],
    [['--=x'], /unknown flag --/],
  ])('%j are refused', (args, message) => {
    expect(() => parse(...args)).toThrow(message);
    expect(() => parse(...args)).toThrow(/ASSAY_USAGE/);
  });
});

describe('numbers', () => {
  test.each(['0', '65535', '080'])('%j is one', (text) => {
    expect(parseNumber('--port', text, 0, 65_535)).toBe(Number(text));
  });

  test.each(['', '-1', '65536', '1.5', '1e3', '0x10', ' 1', '1 ', 'port'])('%j is none', (text) => {
    expect(() => parseNumber('--port', text, 0, 65_535)).toThrow(
      /--port takes a whole number from 0 to 65535/,
    );
  });
});

describe('suggestions', () => {
  test.each([
    ['rnu', '; did you mean --run?'],
    ['run', '; did you mean --run?'],
    ['serv', '; did you mean --serve?'],
    ['banana', ''],
    ['fun', '; did you mean --run?'],
    ['fund', ''],
    ['serevr', '; did you mean --serve?'],
    ['', ''],
  ])('for %j: %j', (name, text) => {
    expect(suggestion(name, ['run', 'serve', 'explain'])).toBe(text);
  });
});

test('a flag is not suggested for one that only has some of its letters', () => {
  expect(suggestion('bogus', ['logs', 'jobs', 'force'])).toBe('');
});

test('help names every flag, and what the table says of it', () => {
  const text = renderHelp({
    usage: 'assay try [FLAGS]',
    text: 'Tries.',
    flags: FLAGS,
    examples: ['assay try --json'],
    environment: { ASSAY_STORE: 'the store' },
    exitCodes: { 125: 'its own failure' },
  });
  expect(text).toMatch(/^Usage: assay try \[FLAGS\]\n\nTries\.\n/);
  for (const line of [
    '--input GLOB …  an input',
    '--store DIR',
    '--json',
    '--help',
    'ASSAY_STORE',
    '125  its own',
  ]) {
    expect(text).toContain(line);
  }
});
