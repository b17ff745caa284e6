// The built pages: what the check of links finds, and that the pages of this checkout pass it.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeFiles } from '../../../test/rig/folders.ts';
import { BASE, checkSite } from '../site/check.ts';

const ROOT = join(import.meta.dirname, '../../..');
const BUILT = join(ROOT, 'dist', 'docs');

test('a link to no file, a link to no anchor and a file of another server stop the build', () => {
  const folder = siteOf({
    'index.html': `<a href="${BASE}b.html#here">b</a> <a href="c/">c</a> <a href="mailto:a@b">mail</a>`,
    'b.html': '<h2 id="here">b</h2><a href="./index.html">up</a>',
    'c/index.html': '<a href="../b.html#here">b</a>',
  });
  expect(() => checkSite(folder, ['index.html', 'b.html', 'c/index.html'])).not.toThrow();

  writeFiles(folder, {
    'c/index.html': `<a href="${BASE}gone.html">x</a><a class="k" href="../b.html#there">y</a><script src="https://example.org/x.js"></script>`,
  });
  expect(() => checkSite(folder, ['index.html', 'b.html', 'c/index.html'])).toThrow(
    /c\/index.html loads https:\/\/example.org\/x.js\n.*gone.html, which is no file\n.*#there, which is no anchor$/,
  );
});

test('npm run docs builds every page of the checkout, with all links right', () => {
  execFileSync(process.execPath, [join(ROOT, 'wings/manual/site/build.ts')], { cwd: ROOT, stdio: 'pipe' });
  for (const page of ['index', 'SERVER', 'commands/run', 'guides/manual', 'decisions/index'])
    expect(existsSync(join(BUILT, `${page}.html`)), page).toBe(true);
  expect(readFileSync(join(BUILT, 'commands/run.html'), 'utf8')).toContain('--hermetic');
});

function siteOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'assay-site-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFiles(folder, files);
  return folder;
}
