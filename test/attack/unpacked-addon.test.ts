// The executable unpacks its index library into the world-writable folder for temporary files, and reuses a
// library that is already there.
// It must never load a file that another user put there: that code would run as the user who runs Assay.
import { chownSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';

const NOBODY = 65_534;

let shop: Workshop;
let addon: string;
let size: number;

beforeEach(async () => {
  shop = new Workshop();
  expect((await run()).code).toBe(0);
  const names = readdirSync(shop.folder).filter((name) => name.endsWith('.node'));
  expect(names).toHaveLength(1);
  addon = join(shop.folder, names[0] ?? '');
  size = statSync(addon).size;
});

afterEach(() => shop.remove());

function run() {
  return shop.assay(['run', '--output', 'made', '--', 'touch', 'made'], {
    form: 'executable',
    env: { TMPDIR: shop.folder, ASSAY_STORE: join(shop.folder, `store ${performance.now()}`) },
  });
}

const noise = () => Buffer.alloc(size, 'no library');

const PLANTS: Record<string, () => void> = {
  'belongs to another user': () => {
    writeFileSync(addon, noise(), { mode: 0o600 });
    chownSync(addon, NOBODY, NOBODY);
  },
  'is a link': () => {
    const elsewhere = join(shop.folder, 'elsewhere');
    writeFileSync(elsewhere, noise(), { mode: 0o600 });
    symlinkSync(elsewhere, addon);
  },
  'is truncated': () => writeFileSync(addon, noise().subarray(0, 1000), { mode: 0o600 }),
};

test.each(Object.entries(PLANTS))(
  'a planted library that %s is replaced and never loaded',
  async (_, plant) => {
    rmSync(addon);
    plant();
    const { code, stderr } = await run();
    expect([code, stderr]).toEqual([0, expect.stringContaining('published (local)')]);
    const { uid, mode, size: now } = statSync(addon);
    expect([uid, mode & 0o777, now]).toEqual([process.getuid?.(), 0o600, size]);
  },
);
