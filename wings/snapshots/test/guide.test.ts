// The commands of GUIDE.md do what the page says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { baseEnvironment, FORMS, runProcess, Workshop } from '../../../test/rig/assay.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../GUIDE.md'), 'utf8');

let shop: Workshop;
let home: string;
let bin: string;

/** As npm: `ci` removes node_modules, and downloads what its own cache lacks. */
const NPM = [
  '#!/bin/sh',
  'rm -rf node_modules && mkdir -p node_modules ~/.npm/_cacache',
  'for name in $(cat package-lock.json); do',
  '  [ -e ~/.npm/_cacache/$name ] || { echo "downloaded $name"; echo $name > ~/.npm/_cacache/$name; }',
  '  cp ~/.npm/_cacache/$name node_modules/$name',
  'done',
].join('\n');

beforeEach(() => {
  shop = new Workshop();
  home = shop.another('home');
  bin = shop.another('bin');
  shop.write('npm', NPM, 0o755, bin);
  shop.write('assay', `#!/bin/sh\nexec ${FORMS.source.join(' ')} "$@"\n`, 0o755, bin);
});

afterEach(() => shop.remove());

/** The indented lines that begin with this one, up to a blank one. */
function snippet(first: string): string {
  const begin = PAGE.indexOf(`    ${first}`);
  return PAGE.slice(begin, PAGE.indexOf('\n\n', begin)).replaceAll(/^ {4}/gm, '');
}

function sh(script: string, on: string) {
  const { PATH = '', ...rest } = baseEnvironment();
  const env = { ...rest, PATH: `${bin}:${PATH}`, HOME: on, ASSAY_STORE: shop.store };
  return runProcess(['/bin/sh', '-ec', script], { cwd: shop.workspace, env });
}

test('the first snippet uses what it restored', async () => {
  const script = snippet('key="npm-');
  shop.write('package-lock.json', 'left-pad');
  expect((await sh(script, home)).stdout).toContain('downloaded left-pad');
  shop.write('package-lock.json', 'left-pad right-pad');
  const { code, stdout, stderr } = await sh(script, shop.another('another-machine'));
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('downloaded right-pad');
  expect(stdout).not.toContain('downloaded left-pad');
});

test('the exact key of node_modules spares npm ci', async () => {
  const [key = ''] = snippet('key="npm-').split('\n');
  const script = `${key}\n${snippet('assay restore --exit-code "$key" node_modules')}\n`;
  shop.write('package-lock.json', 'left-pad');
  expect((await sh(`${script}assay save "$key" node_modules`, home)).stdout).toContain('downloaded left-pad');
  const again = await sh(`rm -r node_modules\n${script}`, shop.another('another-machine'));
  expect(again).toMatchObject({ code: 0, stdout: expect.not.stringContaining('downloaded') });
  expect(shop.has('node_modules/left-pad')).toBe(true);
});

test('eslint’s cache is of use at another path, as the page has it', async () => {
  // As eslint: the cache is by absolute path; what is in it is not linted again.
  const eslint = [
    '#!/bin/sh',
    'mkdir -p .lint && touch .lint/cache',
    'for file in src/*; do',
    '  grep -qx "$PWD/$file $(sha256sum < $file)" .lint/cache || echo "linted $file"',
    'done',
    'for file in src/*; do echo "$PWD/$file $(sha256sum < $file)"; done > .lint/cache',
  ].join('\n');
  const lint = async (workspace: string) => {
    shop.write('eslint', eslint, 0o755, workspace);
    shop.write('lint.sh', snippet('cache=.lint/cache').replace(/^eslint /m, './eslint '), 0o644, workspace);
    const flags = ['--input', 'src/**', '--input', 'lint.sh', '--input', 'eslint', '--state', '.lint'];
    const ran = await shop.run([...flags, '--', 'sh', 'lint.sh'], { cwd: workspace });
    expect(ran.code, ran.stderr).toBe(0);
    return ran;
  };
  const [one, two] = [shop.another('one'), shop.another('two')];
  for (const workspace of [one, two])
    for (const name of ['a', 'b']) shop.write(`src/${name}`, name, 0o644, workspace);
  expect((await lint(one)).stdout).toBe('linted src/a\nlinted src/b\n');
  shop.write('src/b', 'changed', 0o644, two);
  const elsewhere = await lint(two);
  expect(elsewhere.stdout).toBe('linted src/b\n');
  expect(elsewhere.summary.findings ?? []).toEqual([]);
});
