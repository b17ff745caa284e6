// /api/v1 as a fastify plugin (types.ts has the list of addresses). A GET also takes the cookie of a browser's
// login. Each route names the rights that it needs; what it answers is bounded by the namespaces of the token.
import type { FastifyInstance } from 'fastify';
import { parseHash } from '../../../core/digest.ts';
import { RUNS_PATH, type RunReport } from '../../../core/metadata/run-report.ts';
import { all, type Requirement } from '../../access/rights.ts';
import { authorized, onlyMethods } from '../../http/app.ts';
import { jsonErrors } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { Reports } from '../runs/keep-report.ts';
import * as answers from './answers.ts';
import { REPORT_SCHEMA } from './report-schema.ts';

const READ = all('results:read');
const READ_ACTION = all('results:read', 'blobs:read');
const STATS = all('results:read', 'stats');
const CONFIG = { route: 'api', errors: jsonErrors('GET, HEAD'), acceptsSession: true } as const;
const RUNS_CONFIG = { ...CONFIG, errors: jsonErrors('GET, HEAD, POST') } as const;

type Query = Readonly<Record<string, string | undefined>>;

interface Route {
  readonly url: string;
  readonly needs: Requirement;
  /** The names of the query, each with a pattern. */
  readonly query?: Readonly<Record<string, string>>;
  answer(exchange: Exchange, query: Query, params: Query): Promise<object>;
}

const ANY_NAME = '^.{0,500}$';
const NUMBER = '^[1-9][0-9]{0,8}$';
const KEY = '^[0-9a-f]{64}$';
const TIME = '^\\d{4}-\\d{2}-\\d{2}(T[\\d:.]{5,12}Z)?$';

const ROUTES: readonly Route[] = [
  { url: '/api/v1/now', needs: STATS, answer: (exchange) => answers.now(exchange) },
  {
    url: '/api/v1/tail',
    needs: STATS,
    query: { after: '^.{1,100}$' },
    answer: (exchange, { after }) => answers.tail(exchange, after),
  },
  {
    url: '/api/v1/figures',
    needs: STATS,
    query: { from: TIME, to: TIME },
    answer: (exchange, { from, to }) =>
      answers.figures(exchange, { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }),
  },
  {
    url: RUNS_PATH,
    needs: READ,
    query: {
      repository: ANY_NAME,
      branch: ANY_NAME,
      step: ANY_NAME,
      outcome: '^[a-z]{0,20}$',
      tool: ANY_NAME,
      namespace: ANY_NAME,
      before: '^.{1,600}$',
      limit: NUMBER,
    },
    answer: (exchange, { limit, ...query }) =>
      answers.runs(exchange, { ...query, ...numberIn('limit', limit) }),
  },
  {
    url: `${RUNS_PATH}/:id`,
    needs: READ,
    answer: (exchange, _query, { id = '' }) => answers.run(exchange, id),
  },
  {
    url: '/api/v1/misses',
    needs: READ,
    query: { days: NUMBER },
    answer: (exchange, { days }) => answers.misses(exchange, numberIn('days', days)),
  },
  {
    url: '/api/v1/hermeticity',
    needs: READ,
    query: { days: NUMBER },
    answer: (exchange, { days }) => answers.hermeticity(exchange, numberIn('days', days)),
  },
  { url: '/api/v1/storage', needs: STATS, answer: (exchange) => answers.storage(exchange) },
  { url: '/api/v1/setup', needs: STATS, answer: (exchange) => answers.setup(exchange) },
  {
    url: '/api/v1/actions/:key',
    needs: READ_ACTION,
    query: { namespace: ANY_NAME },
    answer: async (exchange, { namespace }, { key = '' }) =>
      answers.action(exchange, parseHash(key), namespace),
  },
  {
    url: '/api/v1/actions/:key/difference',
    needs: READ_ACTION,
    query: { to: KEY },
    answer: async (exchange, { to = '' }, { key = '' }) =>
      answers.difference(exchange, parseHash(key), parseHash(to)),
  },
];

export async function dashboardApi(app: FastifyInstance): Promise<void> {
  const reports = new Reports();
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
