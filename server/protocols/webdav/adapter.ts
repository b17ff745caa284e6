// WebDAV as sccache uses it: /webdav/PATH. Every folder exists. A PUT replaces a file.
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import type { ResultAddress } from '../../../store/store.ts';
import { NOTHING_MORE, type Requirement } from '../../access/rights.ts';
import { jsonErrors } from '../../http/error-response.ts';
import type { Exchange } from '../../http/exchange.ts';
import { type Adapter, badKey, methodNotAllowed } from '../shared/adapter.ts';
import { artifactAddress } from '../shared/artifact.ts';
import { GET_ARTIFACT, PUT_ARTIFACT, receiveArtifact, sendArtifact } from '../shared/artifact-exchange.ts';
import { propertiesOfFile, propertiesOfFolder } from './properties.ts';

const METHODS = 'GET, HEAD, MKCOL, OPTIONS, PROPFIND, PUT';

export const webdav: Adapter = {
  protocol: 'webdav',
  base: '/webdav/',
  errors: jsonErrors(METHODS),
  async answer(exchange, { path }) {
    exchange.authorize(requirementOf(exchange.method));
    const file = fileIn(path);
    return file === undefined
      ? folder(exchange)
      : fileAt(exchange, artifactAddress('webdav', DEFAULT_NAMESPACE, file));
  },
};

function requirementOf(method: string): Requirement {
  if (method === 'PUT' || method === 'MKCOL') return PUT_ARTIFACT;
  return method === 'OPTIONS' ? NOTHING_MORE : GET_ARTIFACT;
}

/** Merges repeated slashes: a client's endpoint may end with one. Undefined for a folder. */
function fileIn(path: string): string | undefined {
  const single = path.replace(/\/{2,}/g, '/').replace(/^\//, '');
  if (single === '' || single.endsWith('/')) return undefined;
  if (!PATH.test(single)) throw badKey('/webdav/PATH, without "." and ".."');
  return single;
}

const PATH = /^(?!(?:.*\/)?\.{1,2}(?:\/|$))[\x21-\x7e]{1,1024}$/;

async function folder(exchange: Exchange): Promise<void> {
  switch (exchange.method) {
    case 'PROPFIND':
      return propertiesOfFolder(exchange);
    case 'MKCOL':
      return exchange.answer(201, [], Buffer.alloc(0));
    case 'OPTIONS':
      return answerOptions(exchange);
    default:
      throw methodNotAllowed(exchange);
  }
}

async function fileAt(exchange: Exchange, address: ResultAddress): Promise<void> {
  switch (exchange.method) {
    case 'GET':
    case 'HEAD':
      return sendArtifact(exchange, address, { protocol: 'webdav' });
    case 'PUT':
      await receiveArtifact(exchange, address, { replace: true });
      return exchange.answer(201, [], Buffer.alloc(0));
    case 'PROPFIND':
      return propertiesOfFile(exchange, address);
    case 'OPTIONS':
      return answerOptions(exchange);
    default:
      throw methodNotAllowed(exchange);
  }
}

function answerOptions(exchange: Exchange): void {
  exchange.answer(200, ['dav', '1', 'allow', METHODS], Buffer.alloc(0));
}
