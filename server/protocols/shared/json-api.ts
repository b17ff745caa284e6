// JsonApi: the interface of a protocol's JSON API, which fastify answers. server/routes.ts registers each of
// them.
import type { FastifyInstance } from 'fastify';

export interface JsonApi {
  /** Matches the paths of the API, without a query. The group `namespace` may hold slashes. */
  readonly path: RegExp;
  /**
   * The path of the fastify route for a match. A parameter of fastify holds no slash, so the namespace must
   * be one encoded segment. fastify decodes it once, so the handler gets it exactly as it was sent.
   */
  urlFor(groups: Readonly<Record<string, string | undefined>>): string;
  plugin(app: FastifyInstance): Promise<void>;
}
