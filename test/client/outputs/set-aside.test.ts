// A command finds none of its earlier outputs in its workspace, wherever the workspace is.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { assayFolder, Staging } from '../../../client/outputs/staging.ts';
import { DEFAULT_FORM, Workshop } from '../../rig/assay.ts';

let shop: Workshop;
let tmp: string;

beforeEach(() => {
  shop = new Workshop();
  tmp = shop.another('tmp');
});

afterEach(() => shop.remove());

const read = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');
const run = (script: string) =>
  shop.run(['--input', '**/*.js', '--output', 'dist', '--', 'sh', '-c', script], {
    env: { TMPDIR: tmp },
    // The executable unpacks its addon there.
    form: DEFAULT_FORM,
  });

describe.each([
  ['beside the workspace', 0o755],
  ['in the temporary folder, if others may write beside the workspace', 0o777],
])('earlier outputs are set aside %s', (_, modeOfParent) => {
  beforeEach(() => chmodSync(shop.folder, modeOfParent));

  afterEach(() => {
    expect([shop.workspace, shop.folder].map((folder) => existsSync(assayFolder(folder)))).toEqual([
      false,
      false,
    ]);
    expect(readdirSync(tmp)).toEqual([]);
  });

  test('and are in no later result', async () => {
    const gather =
      "mkdir -p dist; find . -name '*.js' -not -path './dist/*' | sort | xargs cat > dist/all.js";
    shop.write('src/a.js', 'one\n');
    await run(gather);
    shop.write('src/a.js', 'two\n');
    expect((await run(gather)).summary).toMatchObject({ outcome: 'miss', published: true });
    expect(read('dist/all.js')).toBe('two\n');
  });

  test('and are put back if the command fails before it makes them', async () => {
    shop.write('src/a.js', 'one\n');
    await run('mkdir dist; echo made > dist/it; ln -s it dist/link; chmod 755 dist/it');
    expect((await run('test ! -e dist && exit 7')).code).toBe(7);
    expect(read('dist/link')).toBe('made\n');
  });
});

test('the names in .assay that a command sees are the same each time', async () => {
  shop.write('a.js', '');
  const seen = async () => (await run('find .assay | sort; echo > dist; exit 1')).stdout;
  const first = await seen();
  shop.write('dist', 'earlier');
  expect(first).toContain('.assay');
  expect(await seen()).toBe(first);
});

describe('a staging folder', () => {
  test('is different for sibling workspaces', () => {
    const [one, two] = ['one', 'two'].map((name) => Staging.create(shop.another(name)));
    if (!one || !two) throw new Error('there are two');
    expect([one.isInWorkspace, two.isInWorkspace]).toEqual([false, false]);
    expect(one.next()).not.toBe(two.next());
    one.remove();
    two.remove();
    expect(readdirSync(shop.folder).includes('.assay')).toBe(false);
  });

  test.each([
    ['is a link', (home: string) => symlinkSync(shop.another('elsewhere'), home)],
    [
      'is writable by everybody',
      (home: string) => {
        mkdirSync(home);
        chmodSync(home, 0o777);
      },
    ],
  ])('is in the workspace if the parent folder %s', (_, prepare) => {
    prepare(assayFolder(shop.folder));
    const staging = Staging.create(shop.workspace);
    expect(staging.isInWorkspace).toBe(true);
    staging.remove();
    expect(shop.has('.assay')).toBe(false);
  });
});
