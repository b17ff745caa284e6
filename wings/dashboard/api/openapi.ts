// The description of /api/v1 for programs: OpenAPI 3.1, made from the routes themselves.
import type { JsonSchema } from '../../../core/metadata/json-schema.ts';
import { RUNS_PATH } from '../../../core/metadata/run-report.ts';
import { REPORT_SCHEMA } from '../../../core/metadata/run-report-schema.ts';
import { VERSION } from '../../../core/version.ts';
import type { Requirement } from '../../../server/access/rights.ts';
import { REPORTED } from './schemas/runs.ts';

export interface DescribedRoute {
  /** Of fastify: parameters begin with ":". */
  readonly url: string;
  readonly needs: Requirement;
  readonly query?: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly answers: JsonSchema<unknown>;
}

export function openApi(routes: readonly DescribedRoute[]): object {
  const paths: Record<string, object> = {};
  for (const route of routes)
    paths[route.url.replace(/:(\w+)/g, '{$1}')] = { get: operationOf(route), ...postAt(route.url) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Assay',
      version: VERSION,
      description:
        'What an Assay server knows about runs, misses, figures and storage. An answer holds what the token may read.',
    },
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        browser: { type: 'apiKey', in: 'cookie', name: 'assay-session' },
      },
    },
    security: [{ token: [] }, { browser: [] }],
    paths,
  };
}

function operationOf({ url, needs, query = {}, summary, answers }: DescribedRoute): object {
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query).map(([name, pattern]) => ({
    name,
    in: 'query',
    required: false,
    schema: { type: 'string', pattern },
  }));
  return {
    summary,
    description:
      needs.rights.length === 0
        ? 'Needs no right.'
        : `Needs ${needs.rights.join(needs.isAny ? ' or ' : ' and ')}.`,
    parameters: [...inPath, ...inQuery],
    responses: {
      200: { description: 'The answer', content: { 'application/json': { schema: answers } } },
      ...REFUSALS,
    },
  };
}

const REFUSALS = {
  400: { description: 'A parameter is not valid' },
  401: { description: 'No valid token' },
  403: { description: 'The token lacks a right' },
  404: { description: 'There is no such thing, or the token may not see it' },
};

function postAt(url: string): object {
  if (url !== RUNS_PATH) return {};
  return {
    post: {
      summary: 'Reports a run',
      description: 'Needs the right runs:write. `assay run` sends it.',
      security: [{ token: [] }],
      parameters: [{ name: 'namespace', in: 'query', required: false, schema: { type: 'string' } }],
      requestBody: { required: true, content: { 'application/json': { schema: REPORT_SCHEMA } } },
      responses: {
        201: {
          description: 'The run is kept',
          content: { 'application/json': { schema: REPORTED } },
        },
        ...REFUSALS,
      },
    },
  };
}
