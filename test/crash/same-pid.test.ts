// Two containers that share a store may both run as PID 1, and LMDB identifies processes by their PID.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { RUNTIME_FORMS, Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';
import { inNamespaces } from '../rig/users.ts';

const CONTAINER = inNamespaces('--pid', '--fork', '--mount-proc', '--kill-child');
const BLOB = Buffer.from('a blob of the first container');
let shop: Workshop;
let first: ServerProcess;

beforeEach(async () => {
  shop = new Workshop();
  first = await ServerProcess.start(shop.store, { wrapper: CONTAINER });
  const put = await fetch(blobUrl(first), { method: 'PUT', body: BLOB });
  expect(put.ok).toBe(true);
  expect(await blobFrom(first)).toBe(BLOB.toString());
});

afterEach(async () => {
  await first.kill();
  shop.remove();
});

function blobUrl({ url }: ServerProcess): string {
  return `${url}/cas/${digestOf(BLOB).hash}`;
}

async function blobFrom(server: ServerProcess): Promise<string> {
  return (await fetch(blobUrl(server))).text();
}

test('a second server with the same PID is refused at once, and the first one continues; when that is killed, the second starts', async () => {
  const second = ServerProcess.start(shop.store, { wrapper: CONTAINER });
  await expect(second).rejects.toThrow(/ASSAY_STORE_SAME_PID: .*PID 1, in another container.*--pid=host/s);
  expect(await blobFrom(first)).toBe(BLOB.toString());
  await first.kill();
  first = await ServerProcess.start(shop.store, { wrapper: CONTAINER });
  expect(await blobFrom(first)).toBe(BLOB.toString());
});

test.each(RUNTIME_FORMS)(
  'a client with the same PID runs without the store, and reports it (%s)',
  async (form) => {
    shop.write('in.txt', 'content\n');
    const action = ['--input', 'in.txt', '--output', 'out.txt', '--', 'cp', 'in.txt', 'out.txt'];
    const ran = await shop.assayIn(CONTAINER, ['run', ...action], { form });
    expect(ran.stderr).toMatch(/running without it: ASSAY_STORE_SAME_PID: .*--pid=host/);
    expect(ran.code).toBe(0);
    expect(shop.has('out.txt')).toBe(true);
    expect(await blobFrom(first)).toBe(BLOB.toString());
  },
);
