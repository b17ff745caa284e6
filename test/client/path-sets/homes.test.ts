// Which folders are homes, and what below them is installed software.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Homes } from '../../../client/path-sets/homes.ts';
import { absPath } from '../../../system/paths/absolute-path.ts';

function around(path: string, home: string, others: readonly string[] = []): string | undefined {
  return new Homes(home, others).around(absPath(path));
}

describe('a home', () => {
  test.each([
    ['the caller’s', '/data/me', '/data/me/x', '/data/me'],
    ['the caller’s, written with slashes', '/data//me/', '/data/me/x', '/data/me'],
    ['root’s', '/data/me', '/root/.netrc', '/root'],
    ['another user’s', '/data/me', '/home/you/deep/x', '/home/you'],
    ['Fedora’s', '/home/me', '/var/home/me/x', '/var/home/me'],
    ['in a container', '/opt/app', '/opt/app/.env', '/opt/app'],
    ['on a disk of Windows', '/home/me', '/mnt/c/Users/me/x', '/mnt/c/Users/me'],
    ['the caller’s, if that is the root: names with a dot', '/', '/.netrc', '/'],
  ])('%s', (_, home, path, expected) => {
    expect(around(path, home)).toBe(expected);
  });

  test.each([
    ['the folder of homes', '/home/me', '/home'],
    ['the root', '/', '/data/x'],
    ['a mark that containers have', '/', '/.dockerenv'],
    ['a folder of installed software', '/usr', '/usr/bin/cc'],
    ['a folder around installed software', '/nix', '/nix/store/x'],
    ['nothing, for a user without one', '/dev/null', '/dev/null/x'],
    ['a relative path', 'me', '/me/x'],
  ])('is not %s', (_, home, path) => {
    expect(around(path, home)).toBeUndefined();
  });

  test('may lie in another one', () => {
    const homes = new Homes('/home/runner/work/home', []);
    expect(homes.around(absPath('/home/runner/work/home/x'))).toBe('/home/runner/work/home');
    expect(homes.around(absPath('/home/runner/x'))).toBe('/home/runner');
    for (const home of ['/home/runner/work/home', '/home/runner'])
      expect(homes.softwareAround(absPath(`${home}/.nvm/x`))).toBe(`${home}/.nvm`);
  });

  test('is also that of another person in the user database', () => {
    expect(around('/data/you/x', '/data/me', ['/data/you'])).toBe('/data/you');
  });
});

describe('installed software below a home', () => {
  const homes = new Homes('/data/me', []);

  test.each([
    ['/data/me/.nvm/versions/node/v20/bin/node', '/data/me/.nvm'],
    ['/data/me/go/pkg/mod/x', '/data/me/go/pkg'],
    ['/home/linuxbrew/.linuxbrew/bin/x', '/home/linuxbrew/.linuxbrew'],
    ['/root/.cargo/registry/x', '/root/.cargo/registry'],
  ])('%s', (path, folder) => {
    expect(homes.softwareAround(absPath(path))).toBe(folder);
  });

  test.each([
    '/data/me/.cargo/config.toml',
    '/data/me/.m2/settings.xml',
    '/data/me/go/src/x',
    '/data/me/.nvmrc',
    '/data/me/.local/share/keyrings/x',
    '/srv/.nvm/x',
  ])('is not %s', (path) => {
    expect(homes.softwareAround(absPath(path))).toBeUndefined();
  });

  test('has its real path, and never contains the workspace or a home', () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-homes-')));
    const me = join(folder, 'me');
    mkdirSync(join(me, '.pyenv'), { recursive: true });
    mkdirSync(join(me, 'sdk/work'), { recursive: true });
    mkdirSync(join(folder, 'nvm'));
    symlinkSync(join(folder, 'nvm'), join(me, '.nvm'));
    symlinkSync(folder, join(me, '.bun'));
    symlinkSync('/', join(me, '.deno'));
    symlinkSync(me, join(folder, 'linked'));
    try {
      const found = new Homes(join(folder, 'linked'), []).ownSoftware(absPath(join(me, 'sdk/work')));
      expect(found).toEqual([
        { name: '.nvm', folder: join(folder, 'nvm') },
        { name: '.pyenv', folder: join(me, '.pyenv') },
      ]);
      expect(new Homes(me, []).ownSoftware(absPath(me))).toEqual([
        { name: '.nvm', folder: join(folder, 'nvm') },
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
