// The installation folder of a tool.
import { describe, expect, it } from 'vitest';
import { absPath } from '../../../hermeticity/system/absolute-path.ts';
import { installationOf } from '../../../hermeticity/verdict/installation.ts';

const HOME = absPath('/home/me');
const WORKSPACE = absPath('/home/me/work');

function of(program: string): string | undefined {
  return installationOf(absPath(program), [HOME, WORKSPACE]);
}

describe('an installation', () => {
  it('is the folder beside whose other folders the program’s own stands', () => {
    expect(of('/home/me/.pyenv/versions/3.12/bin/python3')).toBe('/home/me/.pyenv/versions/3.12');
    expect(of('/home/me/.pyenv/shims/python3')).toBe('/home/me/.pyenv');
    expect(of('/usr/local/bin/tool')).toBe('/usr/local');
  });

  it('is all of node_modules, because a package may keep its binary in another one', () => {
    expect(of('/srv/tools/node_modules/typescript/node_modules/x/bin/x')).toBe('/srv/tools/node_modules');
  });

  it('is never the home of a person, the workspace, or what holds them', () => {
    expect([of('/home/me/bin/tool'), of('/home/me/work/bin/tool'), of('/bin/sh')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('is nothing for a program that stands alone', () => {
    expect(of('/srv/tool')).toBeUndefined();
  });
});
