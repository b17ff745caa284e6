// Which page is at which address, and the answers of the API that it shows.

import type { FastifyRequest } from 'fastify';
import { isHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import type { Exchange } from '../../../server/http/exchange.ts';
import {
  action,
  difference,
  hermeticity,
  misses,
  now,
  runAnswer,
  runs,
  setup,
  storage,
  trends,
} from '../api/answers.ts';
import { DASHBOARD } from '../limits.ts';
import { actionPage, type Comparison } from './action.ts';
import { hermeticityPage } from './hermeticity.ts';
import { missesPage } from './misses.ts';
import { nowPage } from './now.ts';
import type { Renderer } from './plugin.ts';
import { runPage } from './run.ts';
import { type RunsFilter, runsPage } from './runs.ts';
import { setupPage } from './setup.ts';
import { storagePage } from './storage.ts';
import { TREND_FILTERS, type TrendsFilter, trendsPage } from './trends.ts';
import { runTitle } from './words.ts';

const DAYS = /^[1-9]\d?$/;
const USUAL_DAYS = '7';

export const PAGES: Readonly<Record<string, Renderer>> = {
  '/': async ({ exchange }) => ({
    title: 'Now',
    path: '/',
    content: nowPage(await now(exchange)),
    hasCharts: true,
  }),
  '/runs': async (request) => {
    const found = foundBy(queryOf(request, 'find')?.trim() ?? '');
    if (found !== undefined) return { path: found, isElsewhere: true };
    const query: RunsFilter = filtersOf(request, FILTERS);
    const answer = await runs(request.exchange, query);
    return { title: 'Runs', path: '/runs', content: runsPage(answer, query, Date.now()) };
  },
  '/runs/trends': async (request) => {
    const query: TrendsFilter = filtersOf(request, TREND_FILTERS);
    const content = trendsPage(await trends(request.exchange, query), query, Date.now());
    return { title: 'Trends', path: '/runs/trends', content };
  },
  '/runs/:id': async (request) => {
    const answer = await runAnswer(request.exchange, paramOf(request, 'id'));
    return { title: runTitle(answer), path: '/runs', content: runPage(answer, Date.now()) };
  },
  '/action/:key': async (request) => {
    const { exchange } = request;
    const key = paramOf(request, 'key');
    if (!isHash(key)) throw new AssayError('ASSAY_NOT_FOUND', 'an action has a key of 64 hex digits');
    const answer = await action(exchange, key, queryOf(request, 'namespace'));
    const comparison = await compared(exchange, key, queryOf(request, 'to')?.trim());
    return { title: 'Action', path: '/runs', content: actionPage(answer, comparison, Date.now()) };
  },
  '/misses': async (request) => {
    const asked = queryOf(request, 'days') ?? '';
    const days = DAYS.test(asked) ? asked : USUAL_DAYS;
    const answer = await misses(request.exchange, { days: Number(days) });
    return { title: 'Misses worth fixing', path: '/misses', content: missesPage(answer, days, Date.now()) };
  },
  '/hermeticity': async ({ exchange }) => {
    const content = hermeticityPage(await hermeticity(exchange, {}), Date.now());
    return { title: 'Hermeticity', path: '/hermeticity', content };
  },
  '/storage': async ({ exchange }) => {
    const content = storagePage(await storage(exchange), Date.now());
    return { title: 'Storage and trust', path: '/storage', content };
  },
  '/setup': async (request) => {
    const content = setupPage(await setup(request.exchange), queryOf(request, 'team'), Date.now());
    return { title: 'Set up', path: '/setup', content };
  },
};

/** The page of an id that somebody typed in. */
function foundBy(id: string): string | undefined {
  if (isHash(id)) return `/action/${id}`;
  return /^[0-9a-f]{32}$/.test(id) ? `/runs/${id}` : undefined;
}

/** Why two actions can't be compared stands on the page of the first. */
async function compared(
  exchange: Exchange,
  key: string,
  to: string | undefined,
): Promise<Comparison | undefined> {
  if (to === undefined || to === '') return undefined;
  if (!isHash(key) || !isHash(to)) return { to, failure: 'A key has 64 hex digits.' };
  try {
    return { to, found: await difference(exchange, key, to) };
  } catch (error) {
    if (error instanceof AssayError && error.entry.status < 500) return { to, failure: error.detail };
    throw error;
  }
}

const FILTERS = ['repository', 'branch', 'step', 'outcome', 'tool', 'namespace', 'until', 'before'] as const;

/** A form sends each of its fields, also the empty ones. */
function filtersOf(request: FastifyRequest, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = queryOf(request, name);
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}

function queryOf({ query }: FastifyRequest, name: string): string | undefined {
  return textIn(query, name)?.slice(0, DASHBOARD.filterLength);
}

function paramOf({ params }: FastifyRequest, name: string): string {
  return textIn(params, name) ?? '';
}

function textIn(fields: unknown, name: string): string | undefined {
  if (typeof fields !== 'object' || fields === null) return undefined;
  const value: unknown = Reflect.get(fields, name);
  return typeof value === 'string' ? value : undefined;
}
