// Every page, made from the fixtures, by a name that says what is special about it.

import type { Html } from '../../../../core/html/html.ts';
import { actionPage } from '../../pages/action.ts';
import { hermeticityPage } from '../../pages/hermeticity.ts';
import { errorPage, loginPage } from '../../pages/login.ts';
import { missesPage } from '../../pages/misses.ts';
import { nowPage } from '../../pages/now.ts';
import { runPage } from '../../pages/run.ts';
import { runsPage } from '../../pages/runs.ts';
import { setupPage } from '../../pages/setup.ts';
import { document } from '../../pages/shell.ts';
import { storagePage } from '../../pages/storage.ts';
import { trendsPage } from '../../pages/trends.ts';
import {
  ACTION,
  AT,
  DIFFERENCE,
  EMPTY_STORAGE,
  GROUPED_RUN,
  HERMETICITY,
  MISSES,
  NASTY,
  NEW_SERVER,
  NOW,
  RUN,
  RUNS,
  SETUP,
  STEP_TRENDS,
  STORAGE,
  TRENDS,
} from './fixtures.ts';

const viewer = { name: NASTY, isLoggedIn: true };

function page(title: string, path: string, content: Html, hasCharts = false): string {
  return document({ title, path, content, hasCharts }, viewer);
}

const { result: _, ...WITHOUT_RESULT } = ACTION;
const NOTHING_FOUND = {
  ...HERMETICITY,
  counts: { declared: 0, observed: 0, unproven: 0, unwatched: 0 },
  steps: [],
  findings: [],
  divergences: [],
};

const { readAt: _missesReadAt, ...MISSES_UNREAD } = MISSES;
const { readAt: _trendsReadAt, ...TRENDS_UNREAD } = TRENDS;
const { countedAt: _countedAt, ...NOT_COUNTED } = EMPTY_STORAGE;

export const FIXTURE_PAGES: Readonly<Record<string, string>> = {
  now: page('Now', '/', nowPage(NOW), true),
  'now-quiet': page('Now', '/', nowPage({ ...NOW, tail: { events: [], position: '1' } }), true),
  'now-new': page('Now', '/', nowPage(NEW_SERVER), true),
  runs: page('Runs', '/runs', runsPage(RUNS, { branch: NASTY }, AT)),
  'runs-new': page('Runs', '/runs', runsPage({ ...RUNS, runs: [] }, {}, AT)),
  run: page('Run', '/runs', runPage(RUN, AT)),
  'run-grouped': page('Run', '/runs', runPage(GROUPED_RUN, AT)),
  action: page('Action', '/runs', actionPage(ACTION, { to: DIFFERENCE.to, found: DIFFERENCE }, AT)),
  'action-without-result': page(
    'Action',
    '/runs',
    actionPage(WITHOUT_RESULT, { to: 'x', failure: 'A key has 64 hex digits.' }, AT),
  ),
  misses: page('Misses worth fixing', '/misses', missesPage(MISSES, '30', AT)),
  'misses-new': page(
    'Misses worth fixing',
    '/misses',
    missesPage({ ...MISSES, causes: [], runs: 0 }, '7', AT),
  ),
  'misses-unread-new': page('Misses worth fixing', '/misses', missesPage(MISSES_UNREAD, '7', AT)),
  'trends-unread-new': page('Trends', '/runs/trends', trendsPage(TRENDS_UNREAD, {}, AT)),
  trends: page('Trends', '/runs/trends', trendsPage(TRENDS, { namespace: NASTY }, AT)),
  'trends-step': page('Trends', '/runs/trends', trendsPage(STEP_TRENDS, { step: NASTY }, AT)),
  'trends-new': page('Trends', '/runs/trends', trendsPage({ ...TRENDS, weeks: [] }, {}, AT)),
  hermeticity: page('Hermeticity', '/hermeticity', hermeticityPage(HERMETICITY, AT)),
  'hermeticity-new': page('Hermeticity', '/hermeticity', hermeticityPage(NOTHING_FOUND, AT)),
  storage: page('Storage and trust', '/storage', storagePage(STORAGE, AT)),
  'storage-not-counted': page('Storage and trust', '/storage', storagePage(NOT_COUNTED, AT)),
  'storage-new': page('Storage and trust', '/storage', storagePage(EMPTY_STORAGE, AT)),
  setup: page('Set up', '/setup', setupPage(SETUP, 'web', AT)),
  login: loginPage('/runs', 'This server does not know that token, or it has ended.'),
  error: errorPage('There is nothing under that address.', NASTY, 'Check the address.', 'ASSAY_NOT_FOUND'),
};
