// GET and PUT of one artifact. x-artifact-tag is the client's signature: the server returns it, the client
// verifies it.
import { AssayError } from '../../../core/errors.ts';
import type { ResultAddress } from '../../../store/store.ts';
import type { Exchange } from '../../http/exchange.ts';
import { answerJson } from '../../http/json.ts';
import type { Attributes } from '../shared/artifact.ts';
import { receiveArtifact, sendArtifact } from '../shared/artifact-exchange.ts';

const ATTRIBUTE_HEADERS = [
  'x-artifact-duration',
  'x-artifact-tag',
  'x-artifact-sha',
  'x-artifact-dirty-hash',
];

export function getArtifact(exchange: Exchange, address: ResultAddress): Promise<void> {
  const describe = (attributes: Attributes) => Object.entries(attributes).flat();
  return sendArtifact(exchange, address, { protocol: 'turbo', describe });
}

/**
 * A PUT with other content succeeds, to not fail the build: the first content stays, and the event is
 * recorded.
 */
export async function putArtifact(exchange: Exchange, address: ResultAddress): Promise<void> {
  const outcome = await receiveArtifact(exchange, address, { attributes: attributesIn(exchange) });
  answerJson(exchange, { urls: [] }, 202, ['assay-outcome', outcome]);
}

const PRINTABLE = /^[\x20-\x7e]{1,1024}$/;

function attributesIn({ request: { headers } }: Exchange): Attributes {
  const sent = ATTRIBUTE_HEADERS.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : [];
  });
  const invalid = sent.find(([, value]) => !PRINTABLE.test(value));
  if (invalid)
    throw new AssayError('ASSAY_BAD_MESSAGE', `${invalid[0]} is not 1 to 1024 printable ASCII characters`);
  return Object.fromEntries(sent);
}
