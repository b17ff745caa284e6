// Makes the adapter of a plain protocol: GET, HEAD and PUT of a body under a key.
// Every promise of results holds for these bodies, because each is stored as an artifact (artifact.ts).
import type { AssayError } from '../../../core/errors.ts';
import { type Namespace, parseRequestedNamespace } from '../../../core/namespace.ts';
import type { ResultAddress, ResultOutcome } from '../../../store/store.ts';
import { CONTENT_ERRORS, type ErrorFormat } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { dropBody } from '../../http/upload.ts';
import type { Protocol } from '../../request/tools.ts';
import { type Adapter, badKey, methodNotAllowed, type RequestTarget } from './adapter.ts';
import { artifactAddress } from './artifact.ts';
import { GET_ARTIFACT, PUT_ARTIFACT, receiveArtifact, sendArtifact } from './artifact-exchange.ts';

interface PlainProtocol {
  readonly protocol: Protocol;
  readonly base: string;
  readonly atRoot?: string;
  /** The valid form of URLs, for error messages. */
  readonly form: string;
  /** The namespace and the key in the path after the base. Undefined for an invalid path. */
  parseKey(path: string): ArtifactKey | undefined;
  /** Replaces `exchange.authorize` for a tool that sends its token in another way. */
  authorize?(exchange: Exchange): void;
  readonly errors?: ErrorFormat;
  /** New content replaces the old. By default the first content stays, and a difference is recorded. */
  readonly replace?: boolean;
  /** Read and verify the whole body before sending it. */
  readonly verifyFirst?: boolean;
  /**
   * For a tool that fails the build, or stops reading, if a PUT gets 403: the status that it gets instead if
   * its token may not write or the server is read-only. The body is read first, so that the tool gets the
   * response.
   */
  readonly deniedPutStatus?: number;
  /** For a tool that asks several times: true if a miss is counted already. */
  isRepeatedMiss?(exchange: Exchange, address: ResultAddress): boolean;
  /** Answers a PUT that was stored. By default 200, with the outcome in a header. */
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
      const isPut = exchange.method === 'PUT';
      const denial = exchange.denial(isPut ? PUT_ARTIFACT : GET_ARTIFACT);
      if (denial && isPut && plain.deniedPutStatus !== undefined)
        return answerDeniedPut(exchange, denial, plain.deniedPutStatus);
      if (denial) throw denial;
      const found = plain.parseKey(path);
      if (!found) throw badKey(form);
      const address = artifactAddress(protocol, found.namespace, found.key);
      switch (exchange.method) {
        case 'GET':
        case 'HEAD':
          return sendArtifact(exchange, address, {
            protocol,
            verifyFirst,
            isRepeatedMiss: plain.isRepeatedMiss,
          });
        case 'PUT':
          return answerPut(exchange, await receiveArtifact(exchange, address, { replace }));
        default:
          throw methodNotAllowed(exchange);
      }
    },
  };
}

/**
 * Splits a path into a key, its last part, and a namespace, the parts before. Undefined for an invalid key.
 */
export function namespaceAndKey(path: string, key: RegExp): ArtifactKey | undefined {
  const slash = path.lastIndexOf('/');
  const last = path.slice(slash + 1);
  if (!key.test(last)) return undefined;
  return { namespace: parseRequestedNamespace(slash === -1 ? '' : path.slice(0, slash)), key: last };
}

async function answerDeniedPut(exchange: Exchange, denial: AssayError, status: number): Promise<void> {
  await dropBody(exchange);
  exchange.answerError(denial, ['assay-outcome', 'denied'], status);
}

function answerStored(exchange: Exchange, outcome: ResultOutcome): void {
  exchange.answerStored(['assay-outcome', outcome]);
}
