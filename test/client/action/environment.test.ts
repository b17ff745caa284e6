// The environment variables and folders that a command gets.
import { realpathSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseVariable, whyNotAVariable } from '../../../client/action/declared-variables.ts';
import {
  actualEnvironment,
  keyedEnvironment,
  looksSecretVariable,
} from '../../../client/action/environment.ts';
import { Workshop } from '../../rig/assay.ts';
import { changed } from '../run/misses.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

async function environment(
  flags: readonly string[],
  env: Record<string, string> = {},
): Promise<Record<string, string>> {
  const { stdout } = await shop.run([...flags, '--', 'env'], { env });
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s, 2)),
  );
}

describe('the strict environment', () => {
  test('is the documented base and nothing else', async () => {
    const seen = await environment([], {
      SECRET: 'x',
      LANG: 'de_DE',
      NODE_OPTIONS: '--no-warnings',
      TZ: 'Asia/Tokyo',
    });
    const { HOME, TMPDIR, ...rest } = seen;
    expect(rest).toEqual({
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      SHELL: '/bin/sh',
      TZ: 'UTC',
      LC_ALL: 'C.UTF-8',
      MYPY_CACHE_DIR: `${TMPDIR}/mypy`,
      RUFF_CACHE_DIR: `${TMPDIR}/ruff`,
      PYTHONDONTWRITEBYTECODE: '1',
    });
    expect(HOME).not.toBe(process.env.HOME);
    expect(TMPDIR).not.toBe(HOME);
  });

  test('has a home and a temporary folder that are empty, writable and removed afterwards', async () => {
    const script = 'ls -A "$HOME" "$TMPDIR"; echo x > "$HOME/x"; echo x > "$TMPDIR/x"; echo "$HOME"';
    const { stdout, code } = await shop.run(['--', 'sh', '-c', script]);
    expect(code).toBe(0);
    const home = stdout.trim().split('\n').at(-1) ?? '';
    expect(() => realpathSync(home)).toThrow(/ENOENT/);
  });

  test('passes declared variables, with the caller’s value or a fixed one', async () => {
    const seen = await environment(['--env', 'A', '--env', 'B=fixed', '--env', 'C=', '--env', 'UNSET'], {
      A: 'mine',
      B: 'x',
    });
    expect(seen).toMatchObject({ A: 'mine', B: 'fixed', C: '' });
    expect(seen).not.toHaveProperty('UNSET');
  });

  test('passes all variables of a prefix pattern, except Assay’s own and those declared by name', async () => {
    const seen = await environment(['--env', 'MY_B=fixed', '--env', 'MY_*', '--env', 'ASS*'], {
      MY_A: '1',
      MY_B: '2',
      MYTH: 'x',
      ASSAY_TOKEN: 'sesame',
    });
    expect(seen).toMatchObject({ MY_A: '1', MY_B: 'fixed' });
    expect(seen).not.toHaveProperty('MYTH');
    expect(seen).not.toHaveProperty('ASSAY_TOKEN');
  });

  test('warns of a secret that only a pattern matches', async () => {
    const { summary } = await shop.run(['--env', 'NPM_*', '--', 'true'], { env: { NPM_TOKEN: 'hush' } });
    expect(summary.warnings.join()).toContain('NPM_TOKEN looks like a secret');
  });

  test('is overridden by a declared variable of the same name', async () => {
    const seen = await environment(['--env', 'TZ', '--env', 'HOME=/nowhere'], { TZ: 'Asia/Tokyo' });
    expect(seen).toMatchObject({ TZ: 'Asia/Tokyo', HOME: '/nowhere' });
  });

  test('never contains ASSAY_TOKEN', async () => {
    const ran = await shop.assay(['run', '--env', 'ASSAY_TOKEN', '--', 'env'], {
      env: { ASSAY_TOKEN: 'sesame' },
    });
    expect(ran.code).toBe(125);
    expect(ran.stdout + ran.stderr).not.toContain('sesame');
  });

  test('never contains __proto__, which some forms of Assay cannot pass', async () => {
    const ran = await shop.assay(['run', '--env', '__proto__=x', '--', 'env']);
    expect([ran.code, ran.stderr]).toEqual([125, expect.stringContaining('__proto__ is never passed')]);
  });
});

test.each([
  ['', 'it is empty'],
  ['A,B', 'write one entry for each variable'],
  ['A B', 'write one entry for each variable'],
  ['$FOO_A', 'write the name alone, "FOO_A"'],
  ['\u0024{FOO_A}', 'write the name alone, "FOO_A"'],
  ['FOO_?', 'such as VITE_*'],
  ['FOO*A', 'such as VITE_*'],
  ['*_X', 'such as VITE_*'],
  ['FOO_*=1', 'such as VITE_*'],
  ['FOO_[AB]', 'such as VITE_*'],
  ['*', 'whole environment'],
  ['=x', 'it is empty'],
  ['ASSAY_*', 'never passed'],
])('%j is not a variable declaration, and the error says what to write', (text, hint) => {
  expect(whyNotAVariable(text)).toContain(hint);
  expect(() => parseVariable(text)).toThrow(expect.objectContaining({ code: 'ASSAY_USAGE' }));
});

test.each(['A', '_', 'a.b', 'npm_config_//host/:x', 'BASH_FUNC_f%%', 'ÄÖ', 'A_*', 'A=', 'A=*,$ {}', 'A==\n'])(
  '%j is a variable declaration',
  (text) => {
    expect(whyNotAVariable(text)).toBeUndefined();
  },
);

test('a declared variable that is unset gives another key than an empty one', () => {
  const unset = keyedEnvironment([{ name: 'A' }], {});
  const empty = keyedEnvironment([{ name: 'A' }], { A: '' });
  expect(unset).not.toEqual(empty);
});

test('the temporary folders of a run are not in the key', () => {
  const keyed = keyedEnvironment([], {});
  expect(keyed.map(({ name }) => name)).toEqual(['PATH', 'SHELL', 'TZ', 'LC_ALL']);
  const actual = actualEnvironment(keyed, { home: '/h', tmp: '/t', bin: '/b' });
  expect(actual).toMatchObject({ HOME: '/h', TMPDIR: '/t' });
  expect(actual.PATH?.startsWith('/b:/usr/local/sbin')).toBe(true);
});

test.each(['NPM_TOKEN', 'token', 'DB_PASSWORD', 'AWS_SECRET_ACCESS_KEY', 'API_KEY', 'apikey'])(
  '%s looks like a secret',
  (name) => {
    expect(looksSecretVariable(name)).toBe(true);
  },
);

test.each(['NODE_ENV', 'TOKENIZER', 'KEYBOARD', 'PATH'])('%s does not look like a secret', (name) => {
  expect(looksSecretVariable(name)).toBe(false);
});

test('a declared secret causes a warning, and explain never prints its value', async () => {
  const first = await shop.run(['--env', 'NPM_TOKEN', '--', 'true'], { env: { NPM_TOKEN: 'hush-1' } });
  expect(first.summary.warnings.join()).toContain('NPM_TOKEN looks like a secret');
  const second = await shop.run(['--env', 'NPM_TOKEN', '--', 'true'], { env: { NPM_TOKEN: 'hush-2' } });
  expect(second.summary.reason).toBe(changed('variable', 'NPM_TOKEN'));
  const explained = await shop.assay(['explain']);
  expect(first.stderr + second.stderr + explained.stdout).not.toMatch(/hush/);
});
