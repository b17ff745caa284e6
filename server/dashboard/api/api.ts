// /api/v1 as a fastify plugin (types.ts has the list of addresses). A GET also takes the cookie of a browser's
// login. Each route names the rights that it needs; what it answers is bounded by the namespaces of the token.
import type { FastifyInstance } from 'fastify';
import { RUNS_PATH, type RunReport } from '../../../core/metadata/run-report.ts';
import { all, type Requirement } from '../../access/rights.ts';
import { authorized, onlyMethods } from '../../http/app.ts';
import { jsonErrors } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { Reports } from '../runs/keep-report.ts';
import { misses, reportRun, run, runs } from './answers.ts';
import { REPORT_SCHEMA } from './report-schema.ts';

const READ = all('results:read');
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

const ROUTES: readonly Route[] = [
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
    answer: (exchange, { limit, ...query }) => runs(exchange, { ...query, ...numberIn('limit', limit) }),
  },
  { url: `${RUNS_PATH}/:id`, needs: READ, answer: (exchange, _query, { id = '' }) => run(exchange, id) },
  {
    url: '/api/v1/misses',
    needs: READ,
    query: { days: NUMBER },
    answer: (exchange, { days }) => misses(exchange, numberIn('days', days)),
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
      return reportRun(exchange, reports, body, namespace);
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
