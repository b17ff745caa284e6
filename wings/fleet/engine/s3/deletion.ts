// The deletion of many objects: by DeleteObjects, or one by one from a server that does not know that request.
// It returns the names that the server refused to delete. A failure of the server is thrown.
import { createHash } from 'node:crypto';
import { concurrently } from '../../../../core/concurrently.ts';
import { elements, elementText, encodedText } from '../aws/xml.ts';
import { S3 } from './limits.ts';
import { bodyText, bucketAway, bucketRefused, type Requests, type S3Request } from './requests.ts';

/** What servers answer that do not know the request. */
const UNKNOWN_REQUEST: ReadonlySet<number> = new Set([400, 404, 405, 411, 415, 501]);

export class ObjectDeletion {
  readonly #requests: Requests;
  #isOneByOne = false;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  async delete(names: readonly string[]): Promise<string[]> {
    const batches: string[][] = [];
    for (let at = 0; at < names.length; at += S3.deletedAtOnce)
      batches.push(names.slice(at, at + S3.deletedAtOnce));
    const refusedNames: string[] = [];
    await concurrently(batches, S3.concurrentBatches, async (batch) => {
      const answered = this.#isOneByOne ? undefined : await this.#deleteTogether(batch);
      refusedNames.push(...(answered ?? (await this.#deleteOneByOne(batch))));
    });
    return refusedNames;
  }

  /** Undefined if the server does not know the request. */
  async #deleteTogether(names: readonly string[]): Promise<string[] | undefined> {
    const { prefix } = this.#requests;
    const keys = names.map((name) => `<Object><Key>${encodedText(prefix + name)}</Key></Object>`).join('');
    const body = Buffer.from(
      `<?xml version="1.0" encoding="UTF-8"?><Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${keys}</Delete>`,
    );
    // S3 demands a checksum of this body besides the signature.
    const headers = { 'content-md5': createHash('md5').update(body).digest('base64') };
    const request: S3Request = { method: 'POST', query: { delete: '' }, headers, body };
    const answer = await this.#requests.send(request);
    if (!answer.ok) {
      if (answer.code === 'AccessDenied') return [...names];
      if (!UNKNOWN_REQUEST.has(answer.status) || answer.code === 'NoSuchBucket')
        throw bucketRefused(request, answer);
      this.#isOneByOne = true;
      return undefined;
    }
    const xml = await bodyText(answer.body);
    if (!/<\/DeleteResult>|<DeleteResult[^>]*\/>/.test(xml))
      throw bucketAway(request, 'it answered without a result');
    return elements(xml, 'Error').flatMap((entry) => {
      const key = elementText(entry, 'Key') ?? '';
      return elementText(entry, 'Code') === 'NoSuchKey' ? [] : [key.slice(prefix.length)];
    });
  }

  async #deleteOneByOne(names: readonly string[]): Promise<string[]> {
    const refusedNames: string[] = [];
    await concurrently(names, S3.concurrentDeletes, async (name) => {
      const answer = await this.#requests.send({ method: 'DELETE', name });
      if (answer.ok) await bodyText(answer.body);
      else if (answer.code !== 'NoSuchKey') refusedNames.push(name);
    });
    return refusedNames;
  }
}
