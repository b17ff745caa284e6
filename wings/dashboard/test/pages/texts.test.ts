// The words of the pages: what is not known is not shown as zero, and no name of the protocol stands for a tool.
import { expect, test } from 'vitest';
import type { Html } from '../../../../core/html/html.ts';
import { actionPage } from '../../pages/action.ts';
import { hermeticityPage } from '../../pages/hermeticity.ts';
import { missesPage } from '../../pages/misses.ts';
import { nowPage } from '../../pages/now.ts';
import { runPage } from '../../pages/run.ts';
import { runsPage } from '../../pages/runs.ts';
import { document, type Viewer } from '../../pages/shell.ts';
import { storagePage } from '../../pages/storage.ts';
import { trendsPage } from '../../pages/trends.ts';
import {
  ACTION,
  AT,
  DIFFERENCE,
  GROUPED_RUN,
  HERMETICITY,
  MISSES,
  NASTY,
  NOW,
  RUN,
  RUNS,
  STORAGE,
  TRENDS,
} from './fixtures.ts';

/** As a person reads it. */
const textOf = ({ text }: Html) => text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');

test('requests of another tool are lookups, and what they do not tell is left open', () => {
  const silent = { ...GROUPED_RUN, savedMs: 0, elapsedMs: 0, hits: 2, misses: 3 };
  const run = textOf(runPage(silent, AT));
  expect(run).toContain('2 of 5 3 missed');
  expect(run).toContain('sent by');
  expect(run).not.toMatch(/ 0 ms|Moved|ran\b/);
  const rows = textOf(runsPage({ ...RUNS, runs: [silent] }, {}, AT));
  expect(rows).toContain('2 hit, 3 missed – –');
});

test('a run names the first step that ran, besides the slowest, and links each step to its action', () => {
  const [one] = RUN.stepList;
  if (!one) throw new Error('the fixture has no step');
  const key = 'a'.repeat(64);
  const step = (name: string, elapsedMs: number) =>
    ({ ...one, step: name, outcome: 'miss', why: `why of ${name}`, elapsedMs, key }) as const;
  const stepList = [
    { ...step('bundle', 10), isStored: true },
    { ...step('test', 20), isStored: false },
  ];
  const { text } = runPage({ ...RUN, stepList, criticalPath: ['bundle', 'test'] }, AT);
  expect(text).toContain(
    '<strong>test</strong> took most: why of test. The first that ran is <strong>bundle</strong>: why of bundle',
  );
  expect(text).toContain(`<strong><a href="/action/${key}">bundle</a></strong>`);
  expect(text).toContain('<td><strong>test</strong>');
  expect(runPage({ ...RUN, stepList, criticalPath: ['test'] }, AT).text).not.toContain('The first that ran');
});

test('the writer of a result is named with how it was written', () => {
  const { result } = ACTION;
  if (!result) throw new Error('the fixture has no result');
  const written = (protocol: string) => {
    const writer = { name: 'ci', protocol, at: new Date(AT - 60_000).toISOString() };
    return textOf(actionPage({ ...ACTION, result: { ...result, writer } }, undefined, AT));
  };
  expect(written('path-sets')).toContain('ci 1 minute ago , by assay run');
  expect(written('ActionCache.UpdateActionResult')).toContain('1 minute ago , over gRPC');
  expect(written('turbo')).toContain('1 minute ago , over turbo');
});

test('an action without a result is in no namespace', () => {
  const { result: _result, ...without } = ACTION;
  expect(textOf(actionPage({ ...without, workingDirectory: '' }, undefined, AT))).not.toContain('namespace');
});

test('earlier actions of the step are links to the difference, the chosen one is none', () => {
  const others = [
    { key: '1'.repeat(64), step: 'test', at: '2026-11-17T09:30:00.000Z' },
    { key: DIFFERENCE.to, step: NASTY, at: '2026-11-16T09:30:00.000Z' },
  ];
  const { text } = actionPage({ ...ACTION, others }, { to: DIFFERENCE.to, found: DIFFERENCE }, AT);
  expect(text).toContain(
    `<a href="/action/${ACTION.key}?to=${'1'.repeat(64)}#compare">test, 2026-11-17 09:30:00 UTC</a>`,
  );
  expect(text).not.toContain(`?to=${DIFFERENCE.to}`);
});

test('what the server tells between backticks is code', () => {
  const warnings = [{ text: 'The token ci ends soon.', whatToDo: 'Make one with `assay token`, soon.' }];
  expect(nowPage({ ...NOW, warnings }).text).toContain('Make one with <code>assay token</code>, soon.');
  const [divergence] = HERMETICITY.divergences;
  if (!divergence) throw new Error('the fixture has no divergence');
  const divergences = [{ ...divergence, whatToDo: 'Run `assay reproduce`.' }];
  expect(hermeticityPage({ ...HERMETICITY, divergences }, AT).text).toContain(
    'Run <code>assay reproduce</code>.',
  );
});

test('denied writes of one token and tool are one row, with their number and the newest', () => {
  const denied = (minutes: number, identity: string) => ({
    at: new Date(AT - minutes * 60_000).toISOString(),
    identity,
    tool: 'ccache',
    why: 'this needs the right results:write',
  });
  const deniedWrites = [denied(9, 'ana'), denied(3, 'ana'), denied(5, 'ana'), denied(7, 'ben')];
  const text = textOf(storagePage({ ...STORAGE, deniedWrites }, AT));
  expect(text).toContain('ana ccache this needs the right results:write 3 3 minutes ago');
  expect(text).toContain('ben ccache this needs the right results:write 1 7 minutes ago');
});

test('a page links to nothing that its reader can not open', () => {
  const page = { title: 'Runs', path: '/runs', content: runsPage(RUNS, {}, AT) };
  const links = (viewer: Viewer | undefined) =>
    [...document(page, viewer).matchAll(/href="(\/api\/v1\/openapi.json|\/status|\/metrics)"/g)].map(
      ([, path]) => path,
    );
  expect(links(undefined)).toEqual(['/status']);
  expect(links({ name: 'ana', isLoggedIn: true })).toEqual(['/api/v1/openapi.json', '/status']);
  expect(links({ name: '', isLoggedIn: false })).toEqual(['/api/v1/openapi.json', '/status', '/metrics']);
});

test('what is still being read is said to be, and is no empty page', () => {
  const { readAt: _misses, ...misses } = { ...MISSES, causes: [] };
  const { readAt: _trends, ...trends } = { ...TRENDS, weeks: [] };
  expect(textOf(missesPage(misses, '7', AT))).toContain('The causes are being read');
  expect(textOf(trendsPage(trends, {}, AT))).toContain('The runs are being read');
});

test('a reader of a part of the server is told which part, a reader of all is not', () => {
  const page = { title: 'Runs', path: '/runs', content: runsPage({ ...RUNS, runs: [] }, {}, AT) };
  const seen = (sees: Viewer['sees']) => document(page, { name: 'ana', isLoggedIn: true, sees });
  const some = seen({ namespaces: ['acme/web', 'acme'], notBelow: 'acme/web' });
  expect(some).toContain('The token ana sees <code>acme/web, acme</code>, and nothing else');
  expect(some).toContain('What lies below <code>acme/web</code> is not shown');
  expect(seen({ namespaces: ['acme/…'] })).not.toContain('not shown');
  expect(seen({ namespaces: ['acme/…'], hidesContent: true })).toContain('What they stored and printed');
  expect(seen(undefined)).not.toContain('The token ana sees');
});

test('the page of a run marks and counts steps that were flaky, and tells how their tries ended', () => {
  const run = textOf(runPage(RUN, AT));
  expect(run).toContain('1 flaky');
  expect(run).toMatch(/lint ran flaky src\/a\.ts changed/);
  expect(run).toContain('Tries ended with 3, then 0, with the same facts');
  const [newest] = TRENDS.flaky;
  if (!newest) throw new Error('the fixture has a flaky step');
  const failed = { ...newest.failed, run: newest.passed.run };
  const trends = textOf(trendsPage({ ...TRENDS, flaky: [{ ...newest, failed }] }, {}, AT));
  expect(trends).toContain(`failed with ${newest.failed.exitCode} and passed on a later try`);
});
