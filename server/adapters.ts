// All adapters, and which of them a URL belongs to. They come before Bazel's addresses, which may begin with anything.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerContext } from './context.ts';
import { Exchange } from './http/exchange.ts';
import { actions } from './protocols/actions/adapter.ts';
import { azure } from './protocols/azure/adapter.ts';
import { ccache } from './protocols/ccache/adapter.ts';
import { gradle } from './protocols/gradle/adapter.ts';
import { labels } from './protocols/labels/adapter.ts';
import { nx } from './protocols/nx/adapter.ts';
import { rush } from './protocols/rush/adapter.ts';
import { s3 } from './protocols/s3/adapter.ts';
import { type Adapter, targetBelow } from './protocols/shared/adapter.ts';
import { turbo } from './protocols/turbo/adapter.ts';
import { webdav } from './protocols/webdav/adapter.ts';

export const ADAPTERS: readonly Adapter[] = [
  ccache,
  gradle,
  turbo,
  nx,
  rush,
  actions,
  azure,
  s3,
  webdav,
  labels,
];

interface Entrance {
  readonly adapter: Adapter;
  /** What an address begins with, and how much of that is the base. */
  readonly start: string;
  readonly baseLength: number;
}

/** By the first part of the path: what a request of any other protocol pays for all of these is one look. */
const ENTRANCES: ReadonlyMap<string, readonly Entrance[]> = Map.groupBy(
  ADAPTERS.flatMap(entrancesOf),
  ({ start }) => firstPart(start),
);

function entrancesOf(adapter: Adapter): Entrance[] {
  const { base, atRoot } = adapter;
  const below = { adapter, start: base, baseLength: base.length };
  return atRoot === undefined ? [below] : [below, { adapter, start: `/${atRoot}`, baseLength: 1 }];
}

/** False when the address is none of theirs; then nothing has happened. */
export function adapted(request: IncomingMessage, response: ServerResponse, context: ServerContext): boolean {
  const url = request.url ?? '';
  const entrance =
    ENTRANCES.get(firstPart(url))?.find(({ start }) => url.startsWith(start)) ?? s3AtRoot(request);
  if (!entrance) return false;
  const { adapter, baseLength } = entrance;
  new Exchange(request, response, context, adapter.protocol, adapter.errors).run((exchange) =>
    adapter.answer(exchange, targetBelow(baseLength, url)),
  );
  return true;
}

/** Many S3 clients can be told of a host and not of a path: what they sign is theirs, wherever it points. */
function s3AtRoot({ headers }: IncomingMessage): Entrance | undefined {
  return headers.authorization?.startsWith('AWS4-') ? { adapter: s3, start: '/', baseLength: 1 } : undefined;
}

function firstPart(url: string): string {
  return url.slice(0, url.indexOf('/', 1));
}
