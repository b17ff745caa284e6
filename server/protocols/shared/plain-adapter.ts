// The protocols that are no more than GET, HEAD and PUT of a body under a key.
import type { Namespace } from '../../../core/namespace.ts';
import type { ResultOutcome } from '../../../store/store.ts';
import { CONTENT_FORM, type RefusalForm } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Protocol } from '../../pages/metrics.ts';
import { type Adapter, badKey, notTaken, type Place } from './adapter.ts';
import { artifactAddress } from './artifact.ts';
import { giveArtifact, takeArtifact } from './artifact-exchange.ts';

export interface PlainProtocol {
  readonly protocol: Protocol;
  readonly base: string;
  readonly atRoot?: string;
  /** For people who got it wrong. */
  readonly form: string;
  /** Undefined for a path that the protocol does not have. */
  keyIn(path: string): ArtifactKey | undefined;
  /** Where the tool sends its token in a way of its own. */
  admit?(exchange: Exchange): void;
  readonly refusals?: RefusalForm;
  readonly replace?: boolean;
  readonly isReadFirst?: boolean;
  answerTaken?(exchange: Exchange, outcome: ResultOutcome): void;
}

export interface ArtifactKey {
  readonly namespace: Namespace;
  readonly key: string;
}

export function plainAdapter(plain: PlainProtocol): Adapter {
  const { protocol, form, replace = false, isReadFirst = false, answerTaken = answerStored } = plain;
  return {
    refusals: CONTENT_FORM,
    ...plain,
    async answer(exchange: Exchange, { path }: Place): Promise<void> {
      if (plain.admit) plain.admit(exchange);
      else exchange.admit();
      const found = plain.keyIn(path);
      if (!found) throw badKey(form);
      const address = artifactAddress(protocol, found.namespace, found.key);
      switch (exchange.method) {
        case 'GET':
        case 'HEAD':
          return giveArtifact(exchange, address, { protocol, isReadFirst });
        case 'PUT':
          exchange.admitWrite();
          return answerTaken(exchange, await takeArtifact(exchange, address, { replace }));
        default:
          throw notTaken(exchange);
      }
    },
  };
}

function answerStored(exchange: Exchange, outcome: ResultOutcome): void {
  exchange.answerStored(['assay-outcome', outcome]);
}
