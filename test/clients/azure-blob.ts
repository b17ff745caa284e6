// A separate process: `node azure-blob.ts put|get CONNECTION CONTAINER BLOB FILE [OFFSET]`, with Azure's SDK and the
// calls that backfill, and therefore lage, makes. With an offset it also fails if an answer has no id.
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';

interface Sdk {
  readonly BlobServiceClient: {
    fromConnectionString(text: string): {
      getContainerClient(name: string): { getBlockBlobClient(name: string): BlockBlobClient };
    };
  };
}

interface BlockBlobClient {
  uploadStream(
    content: NodeJS.ReadableStream,
    blockBytes: number,
    concurrency: number,
  ): Promise<{ requestId?: string }>;
  download(offset: number): Promise<Download>;
}

interface Download {
  readonly requestId?: string;
  readonly readableStreamBody: NodeJS.ReadableStream;
}

const BLOCK_BYTES = 1024 * 1024;
const source = join(import.meta.dirname, 'tools/node_modules/@azure/storage-blob/dist/esm/index.js');
const { BlobServiceClient }: Sdk = await import(pathToFileURL(source).href);
const [, , verb, connection = '', container = '', name = '', file = '', offset] = process.argv;
const blob = BlobServiceClient.fromConnectionString(connection)
  .getContainerClient(container)
  .getBlockBlobClient(name);
const { requestId } =
  verb === 'put'
    ? await blob.uploadStream(createReadStream(file), BLOCK_BYTES, 4)
    : await download(Number(offset ?? 0));
if (offset !== undefined && requestId === undefined) throw new Error('the answer has no id');

async function download(from: number): Promise<Download> {
  const answer = await blob.download(from);
  await pipeline(answer.readableStreamBody, createWriteStream(file));
  return answer;
}
