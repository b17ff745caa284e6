// The protocols that are no more than GET, HEAD and PUT of a body under a key.
import type { Namespace } from '../../../core/namespace.ts';
import type { ResultOutcome } from '../../../store/store.ts';
import { CONTENT_ERRORS, type ErrorFormat } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Protocol } from '../../pages/metrics.ts';
import { type Adapter, badKey, methodNotAllowed, type RequestTarget } from './adapter.ts';
import { artifactAddress } from './artifact.ts';
import { receiveArtifact, sendArtifact } from './artifact-exchange.ts';

export interface PlainProtocol {
  readonly protocol: Protocol;
  readonly base: string;
  readonly atRoot?: string;
  /** For people who got it wrong. */
  readonly form: string;
  /** Undefined for a path that the protocol does not have. */
  parseKey(path: string): ArtifactKey | undefined;
  /** Where the tool sends its token in a way of its own. */
  authorize?(exchange: Exchange): void;
  readonly errors?: ErrorFormat;
  readonly replace?: boolean;
  readonly verifyFirst?: boolean;
  answerPut?(exchange: Exchange, outcome: ResultOutcome): void;
}

export interface ArtifactKey {
  readonly namespace: Namespace;
  readonly key: string;
}

export function plainAdapter(plain: PlainProtocol): Adapter {
  const { protocol, form, replace = false, verifyFirst = false, answerPut = answerStored } = plain;
  return {
    errors: CONTENT_ERRORS,
    ...plain,
    async answer(exchange: Exchange, { path }: RequestTarget): Promise<void> {
      if (plain.authorize) plain.authorize(exchange);
      else exchange.authorize();
      const found = plain.parseKey(path);
      if (!found) throw badKey(form);
      const address = artifactAddress(protocol, found.namespace, found.key);
      switch (exchange.method) {
        case 'GET':
        case 'HEAD':
          return sendArtifact(exchange, address, { protocol, verifyFirst });
        case 'PUT':
          exchange.authorizeWrite();
          return answerPut(exchange, await receiveArtifact(exchange, address, { replace }));
        default:
          throw methodNotAllowed(exchange);
      }
    },
  };
}

function answerStored(exchange: Exchange, outcome: ResultOutcome): void {
  exchange.answerStored(['assay-outcome', outcome]);
}
