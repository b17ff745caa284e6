// Every address at which the server answers, read from the server's own tables.
// A protocol, a page or a method that is added to the server is in here without an edit of this file.
import { METHODS } from 'node:http';
import fastify from 'fastify';
import { MOUNTS } from '../../../server/adapters.ts';
import { grpcMethods } from '../../../server/listen.ts';
import { addRoutes, WITH_ANY_PREFIX } from '../../../server/routes.ts';
import { serverParts } from '../../rig/wings.ts';

/** An address of an HTTP protocol, or a route of fastify. */
export interface Address {
  /** The prefix of a mount, the name of a protocol with any prefix, or "fastify" and the URL of the route. */
  readonly name: string;
  readonly methods: readonly string[];
  /** The methods that need no credential. */
  readonly publicMethods: readonly string[];
}

/** All that node parses, without CONNECT, which is a proxy's. */
const EVERY_METHOD: readonly string[] = METHODS.filter((method) => method !== 'CONNECT');

export async function httpAddresses(): Promise<Address[]> {
  const mounted = MOUNTS.map(({ prefix, adapter }) => ({
    name: prefix,
    methods: EVERY_METHOD,
    publicMethods: adapter?.publicMethods ?? [],
  }));
  const unmounted = Object.keys(WITH_ANY_PREFIX).map((name) => ({
    name,
    methods: EVERY_METHOD,
    publicMethods: [],
  }));
  return [...mounted, ...unmounted, ...(await fastifyRoutes())];
}

async function fastifyRoutes(): Promise<Address[]> {
  const found = new Map<string, { methods: string[]; publicMethods: string[] }>();
  const app = fastify();
  app.addHook('onRoute', ({ url, method, config }) => {
    const route = found.get(url) ?? { methods: [], publicMethods: [] };
    route.methods.push(...[method].flat());
    if (config?.isPublic) route.publicMethods.push(...[method].flat());
    found.set(url, route);
  });
  await addRoutes(app, await serverParts());
  await app.ready();
  await app.close();
  return [...found].map(([url, route]) => ({ name: `fastify ${url}`, ...route }));
}

export const GRPC = grpcMethods(await serverParts());
