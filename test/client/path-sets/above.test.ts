// What a command looks for above its workspace: another checkout, however deep it lies, gets a hit only where
// the command would find the same.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { States } from '../../../client/path-sets/states.ts';
import { digestOf } from '../../../core/digest.ts';
import { ROOT } from '../../../core/path.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

function checkout(path: string, files: Readonly<Record<string, string>>): string {
  const folder = join(shop.folder, path);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) shop.write(name, text, 0o644, folder);
  return folder;
}

describe('a search up to the root', () => {
  const FILES = { 'main.js': "require('fs').writeFileSync('out', typeof module);\n" };
  const NODE = ['--input', 'main.js', '--output', 'out', '--', 'node', 'main.js'];

  async function outcome(cwd: string, ...flags: string[]): Promise<string> {
    const { summary, code } = await shop.run([...flags, ...NODE], { cwd });
    return code === 0 ? summary.outcome : `${summary.outcome}, exit ${code}`;
  }

  test('in a deeper checkout, a package.json above it is a miss', async () => {
    const one = checkout('u/proj', FILES);
    const two = checkout('v/1/2/3/4/5/proj', FILES);
    expect(await outcome(one, '--hermetic=strict')).toBe('miss');
    expect(await outcome(two, '--hermetic=strict')).toBe('hit-local');
    shop.write('package.json', '{"type":"module"}', 0o644, join(shop.folder, 'v/1'));
    expect(await outcome(two)).toBe('miss, exit 1');
    rmSync(join(shop.folder, 'v/1/package.json'));
    expect(await outcome(two)).toBe('hit-local');
  });

  test('a file found above counts by its path relative to the workspace', async () => {
    const script = 'for d in . .. ../.. ../../..; do test -f $d/conf && cat $d/conf && exit; done';
    const find = async (path: string) => {
      const cwd = checkout(path, {});
      const { summary } = await shop.run(['--output', 'out', '--', 'sh', '-c', `(${script}) > out`], { cwd });
      return `${summary.outcome} ${readFileSync(join(cwd, 'out'), 'utf8')}`;
    };
    shop.write('conf', 'u', 0o644, join(shop.folder, 'u'));
    shop.write('conf', 'u', 0o644, join(shop.folder, 'same'));
    shop.write('conf', 'v', 0o644, join(shop.folder, 'v'));
    expect(await find('u/a/proj')).toBe('miss u');
    expect(await find('u/b/proj')).toBe('hit-local u');
    expect(await find('same/a/proj')).toBe('hit-local u');
    expect(await find('v/a/proj')).toBe('miss v');
    shop.write('conf', 'nearer', 0o644, join(shop.folder, 'u/c'));
    expect(await find('u/c/proj')).toBe('miss nearer');
    expect(await find('u/d/e/proj')).toBe('miss u');
  });
});

test('two worktrees side by side: a file beside one is not beside the other', async () => {
  const read = async (path: string) => {
    const cwd = checkout(path, {});
    const { summary } = await shop.run(['--output', 'out', '--', 'sh', '-c', 'cat ../conf > out'], { cwd });
    return `${summary.outcome} ${readFileSync(join(cwd, 'out'), 'utf8')}`;
  };
  shop.write('conf', 'one', 0o644, join(shop.folder, 'u'));
  shop.write('conf', 'two', 0o644, join(shop.folder, 'v'));
  shop.write('conf', 'one', 0o644, join(shop.folder, 'w'));
  expect(await read('u/proj')).toBe('miss one');
  expect(await read('v/proj')).toBe('miss two');
  expect(await read('w/proj')).toBe('hit-local one');
  expect(await read('v/proj')).toBe('hit-local two');
});

test('listing the parent folder lists that of this checkout', async () => {
  const list = async (path: string) => {
    const cwd = checkout(path, {});
    const { summary } = await shop.run(['--output', 'out', '--', 'sh', '-c', 'ls .. > out'], { cwd });
    return `${summary.outcome} ${readFileSync(join(cwd, 'out'), 'utf8')}`;
  };
  expect(await list('u/proj')).toBe('miss proj\n');
  shop.write('more', '', 0o644, join(shop.folder, 'v'));
  expect(await list('v/proj')).toBe('miss more\nproj\n');
});

describe('the state of a path above the workspace', () => {
  const NOTHING = { names: false, state: '', left: '', without: [], lens: '', shown: [], note: '' };

  function statesIn(workspace: string): States {
    const digests = { digest: () => digestOf(Buffer.from('x')) };
    return new States(
      {
        request: { workspace, workingDirectory: ROOT, command: ['true'], outputs: [] },
        tools: [],
        environment: [],
      },
      digests,
    );
  }

  test('lists every folder above that has the name', () => {
    const above = (path: string) => {
      const states = statesIn(checkout(path, {}));
      return states.of({ ...NOTHING, root: 'above:workspace', path: 'assay-sought' });
    };
    expect([above('a'), above('b/c/d/proj')]).toEqual(['absent', 'absent']);
    shop.write('assay-sought', '', 0o644, join(shop.folder, 'b'));
    expect([above('a'), above('b'), above('b/c/d/proj')]).toEqual(['absent', 'absent', 'above 3']);
    shop.write('assay-sought', '', 0o644, join(shop.folder, 'b/c/d'));
    expect(above('b/c/d/proj')).toBe('above 1 3');
  });

  test('is absent above the root of the file system', () => {
    const states = statesIn('/');
    expect(states.of({ ...NOTHING, root: 'above:workspace', path: 'etc' })).toBe('absent');
    expect(states.of({ ...NOTHING, root: 'workspace', path: '../etc' })).toBe('no such root');
    const deeper = statesIn('/usr/lib');
    expect(deeper.of({ ...NOTHING, root: 'workspace', path: '../' })).toBe('folder');
    expect(deeper.of({ ...NOTHING, root: 'workspace', path: '../../etc' })).toBe('folder');
    expect(deeper.of({ ...NOTHING, root: 'workspace', path: '../../../etc' })).toBe('no such root');
  });
});
