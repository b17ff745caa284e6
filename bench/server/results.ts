// Results for the benchmarks, over HTTP.
import { request } from 'undici';
import { ActionResult } from '../../core/proto/generated/reapi.ts';

export const OUTPUTS_OF_A_RESULT = 2;

export interface ResultOptions {
  readonly prefix: string;
  /** Of each blob. */
  readonly bytes: number;
  readonly token?: string | undefined;
}

/** One result for each group of blobs, with the first blob's hash as its key. All have the same size. */
export async function putResults(
  origin: string,
  blobs: readonly string[],
  { prefix, bytes: blobBytes, token }: ResultOptions,
): Promise<{ paths: string[]; bytes: number }> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const paths: string[] = [];
  let bytes = 0;
  for (let at = 0; at + OUTPUTS_OF_A_RESULT <= blobs.length; at += OUTPUTS_OF_A_RESULT) {
    const hashes = blobs.slice(at, at + OUTPUTS_OF_A_RESULT).map((path) => path.slice(-64));
    const body = encodedResult(hashes, blobBytes);
    const path = `${prefix}/ac/${hashes[0]}`;
    const answer = await request(origin + path, { method: 'PUT', body, headers });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} for PUT ${path}`);
    paths.push(path);
    bytes = body.length;
  }
  return { paths, bytes };
}

export function encodedResult(hashes: readonly string[], sizeBytes: number): Uint8Array {
  return ActionResult.encode({
    ...ActionResult.decode(new Uint8Array()),
    outputFiles: hashes.map((hash, index) => ({
      path: `out/${index}`,
      digest: { hash, sizeBytes },
      isExecutable: false,
      contents: Buffer.alloc(0),
    })),
  }).finish();
}
