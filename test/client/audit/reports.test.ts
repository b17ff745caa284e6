// What an audit writes besides its answer: SARIF that code scanning takes, a page that is safe to open.
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
  /** The types are made from the standard's schema: that this compiles is part of the test. */
  const asStandard = (log: SarifLog): Log => log;

  async function sarif(script: string, flags: readonly string[] = []): Promise<Log> {
    const ran = await audit(['--sarif', '-', ...flags], script);
    const log: SarifLog = JSON.parse(ran.stdout);
    return asStandard(log);
  }

  test('each kind is a rule, each finding a result that names it and a place', async () => {
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

  test('what lies outside of the repository is placed at the configuration', async () => {
    const { runs } = await sarif('cat /etc/passwd ../beside 2>/dev/null; true');
    const results = runs[0]?.results ?? [];
    expect(results.map(({ locations }) => locations?.[0]?.physicalLocation?.artifactLocation?.uri)).toEqual([
      'assay.json',
      'assay.json',
    ]);
    expect(results[0]?.message.text).toContain('/etc/passwd');
  });

  test('every name becomes a valid address that leads back to it', async () => {
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

  test('a finding keeps its fingerprint from run to run', async () => {
    const prints = async () =>
      (await sarif('cat in.txt')).runs[0]?.results?.map(({ partialFingerprints }) => partialFingerprints);
    expect(await prints()).toEqual(await prints());
  });

  test('an audit without findings is a scan without results', async () => {
    const { runs } = await sarif('cat in.txt', ['--input', 'in.txt']);
    expect(runs[0]).toMatchObject({ results: [], tool: { driver: { rules: [] } } });
  });
});

describe('the page', () => {
  async function page(script: string, flags: readonly string[] = []): Promise<string> {
    const file = join(shop.folder, 'audit.html');
    await audit(['--html', file, ...flags], script);
    return readFileSync(file, 'utf8');
  }

  test('tells findings by what to do, processes and files', async () => {
    const text = await page('cat in.txt > stray; date > out', ['--output', 'out', '--reproduce']);
    expect(text).toMatch(/<h1 class="bad">not hermetic: \d findings/);
    for (const part of [
      'Declare what it reads',
      '--input in.txt',
      '--output stray',
      'the time of day',
      'cat in.txt',
    ]) {
      expect(text).toContain(part);
    }
    for (const id of ['findings', 'variations', 'processes', 'files']) {
      expect(text).toContain(`id="${id}"`);
      expect(text).toContain(`href="#${id}"`);
    }
  });

  test('needs nothing beside it and runs nothing', async () => {
    const text = await page('cat in.txt');
    expect(text).not.toMatch(/<script|<link|<iframe|<img|url\(|@import|\son\w+=|https?:/i);
    expect(text).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
    for (const [, target] of text.matchAll(/(?:href|src)="([^"]*)"/g)) expect(target).toMatch(/^#\w+$/);
  });

  test('no name becomes markup, ends a line or turns the reading direction', async () => {
    for (const name of HOSTILE) shop.write(name, 'x');
    const text = await page('cat ./*');
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(text).toContain('two\\u{a}lines');
    expect(text).toContain('\\u{202e}gnp.exe');
    expect(text).not.toMatch(/<img|<script|\u202e|two\nlines/);
    expect(text).toContain('&amp;lt;');
  });
});

test('a report that can not be written is refused before anything runs', async () => {
  const ran = await audit(['--html', join(shop.folder, 'no/such/folder.html')], 'echo > ran');
  expect(ran.code).toBe(125);
  expect(ran.stderr).toContain('there is no folder');
  expect(shop.has('ran')).toBe(false);
  mkdirSync(join(shop.folder, 'folder'));
  expect((await audit(['--sarif', join(shop.folder, 'folder')], 'true')).stderr).toContain('is a folder');
});

test('standard output belongs to one machine only', async () => {
  const both = await audit(['--json', '--sarif', '-'], 'true');
  expect(both).toMatchObject({ code: 125, stdout: '' });
  const ran = await audit(['--sarif', '-'], 'echo said; cat in.txt');
  expect(ran.code).toBe(3);
  expect(() => JSON.parse(ran.stdout)).not.toThrow();
  expect(ran.stderr).toContain('said');
  expect(ran.stderr).toContain('not hermetic');
});

test('reports leave nothing else behind', async () => {
  await audit(['--html', 'a.html', '--sarif', 'a.sarif'], 'true');
  expect(readdirSync(shop.workspace).sort()).toEqual(['a.html', 'a.sarif', 'in.txt']);
});
