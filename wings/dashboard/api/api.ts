// /api/v1 as a fastify plugin. ROUTES has each address with its rights, its parameters and its answer; the checks of
// requests and OpenAPI come from it. The pages show nothing but these answers, and scripts read the same.
//
// Times are ISO 8601 in UTC, durations are milliseconds, sizes are bytes, rates are from 0 to 1. A field that is not known
// is absent. Texts come from clients: a page must escape them. A GET also takes the cookie of a browser's login.
//
// Runs, misses, trends and hermeticity hold what the token may read: its own namespace, those that it reads besides, and
// with `overview` or `admin` those below. Figures (now, tail, figures, storage, setup) hold what its rights show: `stats`
// its own namespace, `overview` and `admin` also those below, `server:stats` the whole server.
import type { FastifyInstance } from 'fastify';
import { parseHash } from '../../../core/digest.ts';
import { RUNS_PATH } from '../../../core/metadata/run-report.ts';
import { REPORT_SCHEMA, type RunReport } from '../../../core/metadata/run-report-schema.ts';
import { TOKEN_INFO, TOKEN_PATH } from '../../../core/metadata/token-info.ts';
import { all, READ_RUNS } from '../../../server/access/rights.ts';
import { authorized, onlyMethods } from '../../../server/http/app.ts';
import { jsonErrors } from '../../../server/http/error-response.ts';
import type { Exchange } from '../../../server/http/exchange.ts';
import { Reports } from '../runs/keep-report.ts';
import * as answers from './answers.ts';
import { type DescribedRoute, openApi } from './openapi.ts';
import { ACTION, ACTION_DIFFERENCE } from './schemas/action.ts';
import { HERMETICITY_ANSWER } from './schemas/hermeticity.ts';
import { MISSES } from './schemas/misses.ts';
import { FIGURES, NOW, TAIL } from './schemas/now.ts';
import { RUN_ANSWER, RUNS } from './schemas/runs.ts';
import { SETUP } from './schemas/setup.ts';
import { STORAGE } from './schemas/storage.ts';
import { TRENDS } from './schemas/trends.ts';

const READ_ACTION = all('results:read', 'blobs:read');
const STATS = all('stats');
const CONFIG = { route: 'api', errors: jsonErrors('GET, HEAD'), acceptsSession: true } as const;
const RUNS_CONFIG = { ...CONFIG, errors: jsonErrors('GET, HEAD, POST') } as const;

type Query = Readonly<Record<string, string | undefined>>;

interface Route extends DescribedRoute {
  answer(exchange: Exchange, query: Query, params: Query): Promise<object>;
}

const ANY_NAME = '^.{0,500}$';
const NUMBER = '^[1-9][0-9]{0,8}$';
const KEY = '^[0-9a-f]{64}$';
const DAY = '^\\d{4}-\\d{2}-\\d{2}$';
const TIME = '^\\d{4}-\\d{2}-\\d{2}(T[\\d:.]{5,12}Z)?$';

export const ROUTES: readonly Route[] = [
  {
    url: '/api/v1/now',
    summary: 'Health, today, warnings and the newest runs',
    answers: NOW,
    needs: STATS,
    answer: (exchange) => answers.now(exchange),
  },
  {
    url: '/api/v1/tail',
    summary: 'The newest lookups and writes, after a position',
    answers: TAIL,
    needs: STATS,
    query: { after: '^.{1,100}$' },
    answer: (exchange, { after }) => answers.tail(exchange, after),
  },
  {
    url: '/api/v1/figures',
    summary: 'Counts over time',
    answers: FIGURES,
    needs: STATS,
    query: { from: TIME, to: TIME, namespace: ANY_NAME },
    answer: (exchange, query) => answers.figures(exchange, query),
  },
  {
    url: RUNS_PATH,
    summary: 'Runs, newest first',
    answers: RUNS,
    needs: READ_RUNS,
    query: {
      repository: ANY_NAME,
      branch: ANY_NAME,
      step: ANY_NAME,
      outcome: '^[a-z]{0,20}$',
      tool: ANY_NAME,
      namespace: ANY_NAME,
      until: DAY,
      before: '^.{1,600}$',
      limit: NUMBER,
    },
    answer: (exchange, { limit, ...query }) =>
      answers.runs(exchange, { ...query, ...numberIn('limit', limit) }),
  },
  {
    url: `${RUNS_PATH}/:id`,
    summary: 'One run with its steps',
    answers: RUN_ANSWER,
    needs: READ_RUNS,
    answer: (exchange, _query, { id = '' }) => answers.runAnswer(exchange, id),
  },
  {
    url: '/api/v1/misses',
    summary: 'Causes of misses, ranked by the time that they cost',
    answers: MISSES,
    needs: READ_RUNS,
    query: { days: NUMBER, namespace: ANY_NAME },
    answer: (exchange, { days, namespace }) =>
      answers.misses(exchange, { ...numberIn('days', days), namespace }),
  },
  {
    url: '/api/v1/trends',
    summary: 'Weeks, branches, steps, pull requests, slower and flaky steps of reported runs',
    answers: TRENDS,
    needs: READ_RUNS,
    query: { weeks: NUMBER, repository: ANY_NAME, branch: ANY_NAME, step: ANY_NAME, namespace: ANY_NAME },
    answer: (exchange, { weeks, ...query }) =>
      answers.trends(exchange, { ...query, ...numberIn('weeks', weeks) }),
  },
  {
    url: '/api/v1/hermeticity',
    summary: 'Steps by their evidence, findings and divergences',
    answers: HERMETICITY_ANSWER,
    needs: READ_RUNS,
    query: { days: NUMBER },
    answer: (exchange, { days }) => answers.hermeticity(exchange, numberIn('days', days)),
  },
  {
    url: '/api/v1/storage',
    summary: 'What fills the store, who writes, tokens and nodes',
    answers: STORAGE,
    needs: STATS,
    answer: (exchange) => answers.storage(exchange),
  },
  {
    url: '/api/v1/setup',
    summary: 'What to write for each tool, and whether it was seen',
    answers: SETUP,
    needs: STATS,
    answer: (exchange) => answers.setup(exchange),
  },
  {
    url: TOKEN_PATH,
    summary: 'The namespaces and the rights of the token that asks',
    answers: TOKEN_INFO,
    needs: all(),
    answer: async (exchange) => answers.token(exchange),
  },
  {
    url: '/api/v1/actions/:key',
    summary: 'One action with its result',
    answers: ACTION,
    needs: READ_ACTION,
    query: { namespace: ANY_NAME },
    answer: async (exchange, { namespace }, { key = '' }) =>
      answers.action(exchange, parseHash(key), namespace),
  },
  {
    url: '/api/v1/actions/:key/difference',
    summary: 'What differs between two actions',
    answers: ACTION_DIFFERENCE,
    needs: READ_ACTION,
    query: { to: KEY },
    answer: async (exchange, { to = '' }, { key = '' }) =>
      answers.difference(exchange, parseHash(key), parseHash(to)),
  },
];

export async function dashboardApi(app: FastifyInstance): Promise<void> {
  const reports = new Reports();
  const description = openApi(ROUTES);
  onlyMethods(app, '/api/v1/openapi.json', { config: CONFIG }, 'GET', 'HEAD');
  app.get('/api/v1/openapi.json', { config: CONFIG }, () => description);
  for (const { url, needs, query = {}, answer } of ROUTES) {
    const config = url === RUNS_PATH ? RUNS_CONFIG : CONFIG;
    onlyMethods(app, url, { config }, 'GET', 'HEAD', ...(url === RUNS_PATH ? (['POST'] as const) : []));
    app.get<{ Querystring: Query; Params: Query }>(
      url,
      { config, onRequest: authorized(needs), schema: { querystring: querySchema(query) } },
      (request, reply) => {
        reply.header('cache-control', 'no-store');
        return answer(request.exchange, request.query, request.params);
      },
    );
  }
  app.post<{ Querystring: Query; Body: RunReport }>(
    RUNS_PATH,
    {
      config: { ...RUNS_CONFIG, acceptsSession: false },
      onRequest: authorized(all('runs:write')),
      schema: { querystring: querySchema({ namespace: ANY_NAME }), body: REPORT_SCHEMA },
    },
    async ({ exchange, query: { namespace = '' }, body }, reply) => {
      reply.code(201);
      return answers.reportRun(exchange, reports, body, namespace);
    },
  );
}

function numberIn<Name extends string>(name: Name, text: string | undefined): { [key in Name]?: number } {
  return text === undefined ? {} : ({ [name]: Number(text) } as { [key in Name]: number });
}

/** A field that is not known is refused: a typing error would show more than was asked for. */
function querySchema(query: Readonly<Record<string, string>>): object {
  const properties = Object.fromEntries(
    Object.entries(query).map(([name, pattern]) => [name, { type: 'string', pattern }]),
  );
  return { type: 'object', additionalProperties: false, properties };
}
