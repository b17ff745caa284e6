// PROPFIND with Depth 0, for a file or a folder. Every folder exists, so that clients do not create parents.
import type { ResultAddress } from '../../../store/store.ts';
import type { Exchange } from '../../http/exchange.ts';
import { findArtifact } from '../shared/artifact.ts';
import { escapeXml } from '../shared/xml.ts';

export function propertiesOfFolder(exchange: Exchange): void {
  answer(exchange, '<D:resourcetype><D:collection/></D:resourcetype>');
}

export async function propertiesOfFile(exchange: Exchange, address: ResultAddress): Promise<void> {
  const {
    store,
    server: { metrics },
  } = exchange;
  const artifact = await findArtifact(store, address);
  metrics.lookedUp('webdav', artifact !== undefined);
  if (!artifact) return exchange.answerMiss();
  const { hash, size } = artifact.digest;
  const properties = `<D:getcontentlength>${size}</D:getcontentlength><D:getetag>"${hash}"</D:getetag>`;
  answer(exchange, `<D:resourcetype/>${properties}`);
}

/** Clients require a time. The server does not publish when a file was stored. */
const NO_TIME = '<D:getlastmodified>Thu, 01 Jan 1970 00:00:00 GMT</D:getlastmodified>';

function answer(exchange: Exchange, properties: string): void {
  const href = escapeXml((exchange.request.url ?? '').split('?', 1)[0] ?? '');
  const found = `<D:prop>${properties}${NO_TIME}</D:prop><D:status>HTTP/1.1 200 OK</D:status>`;
  const response = `<D:response><D:href>${href}</D:href><D:propstat>${found}</D:propstat></D:response>`;
  const body = `<?xml version="1.0" encoding="utf-8"?><D:multistatus xmlns:D="DAV:">${response}</D:multistatus>`;
  exchange.answer(207, ['content-type', 'application/xml; charset=utf-8'], Buffer.from(body));
}
