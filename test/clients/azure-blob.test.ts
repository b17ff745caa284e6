// Azure Blob Storage through its own SDK, called as backfill and lage call it.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { forgetfulServer, MINUTES, run, servedFrom, TOKEN, workshop } from './rig.ts';

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

test('a server that keeps nothing downloads nothing', { timeout: MINUTES }, async () => {
  const shop = workshop();
  const url = await forgetfulServer();
  await blob(shop, url, 'put', shop.write('sent', 'x')).catch(() => {});
  await expect(blob(shop, url, 'get', join(shop.workspace, 'received'))).rejects.toThrow('404');
});

function blob({ folder, workspace }: Workshop, url: string, verb: string, file: string): Promise<string> {
  const connection = `BlobEndpoint=${url}/azure;SharedAccessSignature=sig=${TOKEN}`;
  const script = join(import.meta.dirname, 'azure-blob.ts');
  const command = [process.execPath, script, verb, connection, 'team', 'da39a3ee5e6b4b0d', file];
  return run(command, { cwd: workspace, home: folder });
}
