// A separate process: `node azure-blob.ts put|get CONNECTION CONTAINER BLOB FILE`, with Azure's SDK and the
// calls that backfill, and therefore lage, makes.
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
  uploadStream(content: NodeJS.ReadableStream, blockBytes: number, concurrency: number): Promise<unknown>;
  download(offset: number): Promise<{ readonly readableStreamBody: NodeJS.ReadableStream }>;
}

const BLOCK_BYTES = 1024 * 1024;
const source = join(import.meta.dirname, 'tools/node_modules/@azure/storage-blob/dist/esm/index.js');
const { BlobServiceClient }: Sdk = await import(pathToFileURL(source).href);
const [, , verb, connection = '', container = '', name = '', file = ''] = process.argv;
const blob = BlobServiceClient.fromConnectionString(connection)
  .getContainerClient(container)
  .getBlockBlobClient(name);
if (verb === 'put') await blob.uploadStream(createReadStream(file), BLOCK_BYTES, 4);
else await pipeline((await blob.download(0)).readableStreamBody, createWriteStream(file));
