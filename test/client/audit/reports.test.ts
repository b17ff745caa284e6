// The reports that an audit writes: SARIF for code scanning, and an HTML page that is safe to open.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from 'sarif';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SarifLog } from '../../../client/audit/sarif.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'in\n');
});

afterEach(() => shop.remove());

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)',
  "it's 'quoted'",
  'two\nlines',
  '\u202egnp.exe',
  '&lt;',
  '100%',
  'ä ö',
];

function audit(flags: readonly string[], script: string) {
  return shop.assay(['audit', ...flags, '--', 'sh', '-c', script]);
}

describe('SARIF', () => {
  /** The types are generated from the standard's schema: that this compiles is part of the test. */
  const asStandard = (log: SarifLog): Log => log;

  async function sarif(script: string, flags: readonly string[] = []): Promise<Log> {
    const ran = await audit(['--sarif', '-', ...flags], script);
    const log: SarifLog = JSON.parse(ran.stdout);
    return asStandard(log);
  }

  test('has a rule for each kind, and a result with its rule and location for each finding', async () => {
    const { version, runs } = await sarif('cat in.txt; cat in.txt > stray; test -e maybe; true');
    expect(version).toBe('2.1.0');
    const [run] = runs;
    const rules = run?.tool.driver.rules ?? [];
    const results = run?.results ?? [];
    expect(rules.map(({ id }) => id)).toEqual(['absent', 'read', 'write']);
    for (const { ruleId, ruleIndex = -1, message, locations } of results) {
      expect(rules[ruleIndex]?.id).toBe(ruleId);
      expect(message.text).not.toBe('');
      expect(locations).toHaveLength(1);
    }
    const uris = results.map(({ locations }) => locations?.[0]?.physicalLocation?.artifactLocation?.uri);
    expect(uris.sort()).toEqual(['in.txt', 'maybe', 'stray']);
    expect(run?.invocations).toMatchObject([{ executionSuccessful: true, exitCode: 0 }]);
  });

  test('has a note for what is compared before every hit, and a warning for everything else', async () => {
    const { runs } = await sarif('cat in.txt > stray; test -e maybe; rm in.txt');
    const levels = runs[0]?.results?.map(({ ruleId, level }) => `${ruleId} ${level}`);
    expect(levels?.sort()).toEqual(['absent note', 'delete warning', 'read note', 'write warning']);
    const rules = runs[0]?.tool.driver.rules?.map(
      ({ id, defaultConfiguration }) => `${id} ${defaultConfiguration?.level}`,
    );
    expect(rules).toEqual(['absent note', 'delete warning', 'read note', 'write warning']);
  });

  test('places a path outside the repository at the configuration', async () => {
    const { runs } = await sarif('cat /etc/passwd ../beside 2>/dev/null; true');
    const results = runs[0]?.results ?? [];
    expect(results.map(({ locations }) => locations?.[0]?.physicalLocation?.artifactLocation?.uri)).toEqual([
      'assay.json',
      'assay.json',
    ]);
    expect(results[0]?.message.text).toContain('/etc/passwd');
  });

  test('has a valid URI for every file name, which decodes to the name', async () => {
    for (const name of HOSTILE) shop.write(name, 'x');
    const { runs } = await sarif('cat ./*');
    const uris = (runs[0]?.results ?? [])
      .filter(({ ruleId }) => ruleId === 'read')
      .map(({ locations }) => locations?.[0]?.physicalLocation?.artifactLocation?.uri ?? '');
    const base = new URL('file:///workspace/');
    const names = uris.map((uri) =>
      decodeURIComponent(new URL(uri, base).pathname).slice('/workspace/'.length),
    );
    expect(names.sort()).toEqual([...HOSTILE, 'in.txt'].sort());
  });

  test('has the same fingerprint for a finding in every run', async () => {
    const prints = async () =>
      (await sarif('cat in.txt')).runs[0]?.results?.map(({ partialFingerprints }) => partialFingerprints);
    expect(await prints()).toEqual(await prints());
  });

  test('has no results for an audit without findings', async () => {
    const { runs } = await sarif('cat in.txt', ['--input', 'in.txt']);
    expect(runs[0]).toMatchObject({ results: [], tool: { driver: { rules: [] } } });
  });
});

describe('the HTML page', () => {
  async function page(script: string, flags: readonly string[] = []): Promise<string> {
    const file = join(shop.folder, 'audit.html');
    await audit(['--html', file, ...flags], script);
    return readFileSync(file, 'utf8');
  }

  test('lists findings by what to do, processes and files', async () => {
    const text = await page('cat in.txt > stray; date > out', ['--output', 'out']);
    for (const part of [
      '1 path left undeclared, 1 proven access',
      'Advice: compared before every hit',
      '--input in.txt',
      '--output stray',
      'cat in.txt',
    ]) {
      expect(text).toContain(part);
    }
    for (const id of ['findings', 'processes', 'files']) {
      expect(text).toContain(`id="${id}"`);
      expect(text).toContain(`href="#${id}"`);
    }
  });

  test('is self-contained and runs no script', async () => {
    const text = await page('cat in.txt');
    expect(text).not.toMatch(/<script|<link|<iframe|<img|url\(|@import|\son\w+=|https?:/i);
    expect(text).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
    for (const [, target] of text.matchAll(/(?:href|src)="([^"]*)"/g)) expect(target).toMatch(/^#\w+$/);
  });

  test('never shows a name as markup, a line break or a change of direction', async () => {
    for (const name of HOSTILE) shop.write(name, 'x');
    const text = await page('cat ./*');
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(text).toContain('two\\u{a}lines');
    expect(text).toContain('\\u{202e}gnp.exe');
    expect(text).not.toMatch(/<img|<script|\u202e|two\nlines/);
    expect(text).toContain('&amp;lt;');
  });
});

test('a report that cannot be written is refused before anything runs', async () => {
  const ran = await audit(['--html', join(shop.folder, 'no/such/folder.html')], 'echo > ran');
  expect(ran.code).toBe(125);
  expect(ran.stderr).toContain('there is no folder');
  expect(shop.has('ran')).toBe(false);
  mkdirSync(join(shop.folder, 'folder'));
  expect((await audit(['--sarif', join(shop.folder, 'folder')], 'true')).stderr).toContain('is a folder');
});

test('only one report may use standard output', async () => {
  const both = await audit(['--json', '--sarif', '-'], 'true');
  expect(both).toMatchObject({ code: 125, stdout: '' });
  const ran = await audit(['--sarif', '-'], 'echo said; cat in.txt');
  expect(ran.code).toBe(3);
  expect(() => JSON.parse(ran.stdout)).not.toThrow();
  expect(ran.stderr).toContain('said');
  expect(ran.stderr).toContain('observed: 1 proven access');
});

test('writing reports leaves no other files', async () => {
  await audit(['--html', 'a.html', '--sarif', 'a.sarif'], 'true');
  expect(readdirSync(shop.workspace).sort()).toEqual(['a.html', 'a.sarif', 'in.txt']);
});
