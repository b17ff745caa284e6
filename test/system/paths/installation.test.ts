// The installation folder of a tool.
import { describe, expect, it } from 'vitest';
import { absPath } from '../../../system/paths/absolute-path.ts';
import { installationOf } from '../../../system/paths/installation.ts';

const HOME = absPath('/home/me');
const WORKSPACE = absPath('/home/me/work');

function of(program: string): string | undefined {
  return installationOf(absPath(program), [HOME, WORKSPACE]);
}

describe('the installation folder of a tool', () => {
  it('is the parent of the folder that holds the program', () => {
    expect(of('/home/me/.pyenv/versions/3.12/bin/python3')).toBe('/home/me/.pyenv/versions/3.12');
    expect(of('/home/me/.pyenv/shims/python3')).toBe('/home/me/.pyenv');
    expect(of('/usr/local/bin/tool')).toBe('/usr/local');
  });

  it('is the whole node_modules, because a package may keep its binary in another package', () => {
    expect(of('/srv/tools/node_modules/typescript/node_modules/x/bin/x')).toBe('/srv/tools/node_modules');
  });

  it('is never a home, the workspace, or a folder that contains them', () => {
    expect([of('/home/me/bin/tool'), of('/home/me/work/bin/tool'), of('/bin/sh')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('is undefined for a program without sibling folders', () => {
    expect(of('/srv/tool')).toBeUndefined();
  });
});
