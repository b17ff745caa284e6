// Azure Blob Storage through its own SDK, called as backfill and lage call it.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { forgetfulServer, MINUTES, run, servedFrom, TOKEN, workshop } from './rig.ts';
import { checkScopedBuilds } from './scoped-builds.ts';

const SIZES = { 'in one block': 1000, 'in several blocks': 3_000_000 };

test.each(Object.entries(SIZES))(
  'a blob uploaded %s is downloaded unchanged',
  { timeout: MINUTES },
  async (_how, size) => {
    const shop = workshop();
    const url = await servedFrom(shop);
    const bytes = randomBytes(size);
    await blob(shop, url, 'put', shop.write('sent', bytes));
    const received = join(shop.workspace, 'received');
    await blob(shop, url, 'get', received);
    expect(readFileSync(received).equals(bytes)).toBe(true);
  },
);

test('the SDK gets the id of each request, and the bytes from the offset that it names', {
  timeout: MINUTES,
}, async () => {
  const shop = workshop();
  const url = await servedFrom(shop);
  const bytes = randomBytes(3_000_000);
  const received = join(shop.workspace, 'received');
  await blob(shop, url, 'put', shop.write('sent', bytes), TOKEN, 'name', '0');
  await blob(shop, url, 'get', received, TOKEN, 'name', '1000000');
  expect(readFileSync(received).equals(bytes.subarray(1_000_000))).toBe(true);
});

test('a server that keeps nothing downloads nothing', { timeout: MINUTES }, async () => {
  const shop = workshop();
  const url = await forgetfulServer();
  await blob(shop, url, 'put', shop.write('sent', 'x')).catch(() => {});
  await expect(blob(shop, url, 'get', join(shop.workspace, 'received'))).rejects.toThrow('404');
});

/** As backfill does: looks for the blob, else builds and uploads. Backfill reports what the SDK throws. */
test('Azure’s SDK with tokens of main, of a pull request and of a reader', {
  timeout: 2 * MINUTES,
}, async () => {
  const shop = workshop();
  await checkScopedBuilds(shop, {
    async build(words, url, { token }) {
      const name = createHash('sha256').update(words).digest('hex');
      const use = (verb: string, file: string) => blob(shop, url, verb, file, token, name);
      const output = join(shop.workspace, 'output');
      const saidOf = (error: Error) => error.message;
      const got = await use('get', output).catch(saidOf);
      if (got === '') return { said: 'downloaded', made: readFileSync(output, 'utf8') };
      const made = randomUUID();
      const put = await use('put', shop.write('output', made)).catch(saidOf);
      return { said: got + put, made };
    },
    hit: /^downloaded$/,
    isSlow: true,
    denied: /RestError: ASSAY_FORBIDDEN: .*statusCode: 403/s,
    revoked: undefined,
  });
});

function blob(
  { folder, workspace }: Workshop,
  url: string,
  verb: string,
  file: string,
  token = TOKEN,
  name = 'da39a3ee5e6b4b0d',
  ...offset: readonly string[]
): Promise<string> {
  const connection = `BlobEndpoint=${url}/azure;SharedAccessSignature=sig=${token}`;
  const script = join(import.meta.dirname, 'azure-blob.ts');
  const command = [process.execPath, script, verb, connection, 'team', name, file, ...offset];
  return run(command, { cwd: workspace, home: folder });
}
