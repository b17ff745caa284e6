// POST /v8/artifacts: which of these hashes are stored, with their sizes and build durations.
import { AssayError } from '../../../core/errors.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { Exchange } from '../../http/exchange.ts';
import { answerJson, fieldOf, receiveJson } from '../../http/json.ts';
import { methodNotAllowed } from '../shared/adapter.ts';
import { findArtifact } from '../shared/artifact.ts';

export async function queryArtifacts(
  exchange: Exchange,
  address: (hash: string) => ResultAddress,
): Promise<void> {
  if (exchange.method !== 'POST') throw methodNotAllowed(exchange);
  const found: Record<string, object | null> = {};
  for (const hash of hashesIn(await receiveJson(exchange))) {
    found[hash] = await describe(exchange, address(hash));
  }
  answerJson(exchange, found);
}

const HASH = /^[0-9A-Za-z_-]{1,255}$/;

function hashesIn(message: unknown): string[] {
  const hashes = fieldOf(message, 'hashes');
  if (Array.isArray(hashes) && hashes.every(isHash)) return hashes;
  throw new AssayError('ASSAY_BAD_MESSAGE', 'the body must be {"hashes": […]}, a list of hashes');
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && HASH.test(value);
}

async function describe({ server }: Exchange, address: ResultAddress): Promise<object | null> {
  const artifact = await findArtifact(server.store, address);
  server.metrics.lookedUp('turbo', artifact !== undefined);
  if (!artifact) return null;
  const { 'x-artifact-duration': duration, 'x-artifact-tag': tag } = artifact.attributes;
  return {
    size: artifact.digest.size,
    taskDurationMs: Number.parseInt(duration ?? '0', 10) || 0,
    ...(tag !== undefined && { tag }),
  };
}
