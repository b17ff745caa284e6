// The real `vp run` against a server: cold and warm in two clones, with tokens of main and of a pull request.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  commitAll,
  debianTool,
  forgetfulServer,
  MINUTES,
  npmTool,
  run,
  servedFrom,
  TOKEN,
  TOOLS,
  workshop,
} from '../../../test/clients/rig.ts';
import { checkScopedBuilds, MAKE, type ScopedBuild } from '../../../test/clients/scoped-builds.ts';
import type { Workshop } from '../../../test/rig/assay.ts';

const SCRIPT = [
  'set -e',
  'mkdir -p out/deep',
  'tr a-z A-Z < words.txt > out/shouted.txt',
  'cp words.txt out/deep/words.txt',
  'cp /bin/true out/tool',
  MAKE,
  'echo built',
];

const CONFIG = `export default { run: { tasks: { build: {
  command: 'sh build.sh',
  cache: { input: [{ auto: true }, '!out/**'], output: ['out/**'] },
} } } };
`;

const HIT = /remote cache hit, replaying/;

/** The registry has `vp` for this one architecture of Linux. */
if (process.arch === 'x64') {
  test('vp run restores the outputs of another clone from the server', { timeout: 2 * MINUTES }, async () => {
    const shop = withTasks();
    await commitAll(shop);
    const url = await servedFrom(shop);
    const cold = await build(shop.workspace, shop, url);
    const clone = join(shop.folder, 'clone');
    await run([debianTool('git'), 'clone', '--quiet', shop.workspace, clone], {
      cwd: shop.folder,
      home: shop.folder,
    });
    const warm = await build(clone, shop, url);
    expect(cold.said).not.toMatch(HIT);
    expect(warm.said).toMatch(HIT);
    expect(warm.said).toMatch(/built/);
    expect(warm.made).toBe(cold.made);
    const listed = (folder: string) =>
      run(['find', 'out', '-printf', '%p %y %m %l\\n'], { cwd: folder, home: shop.folder });
    expect(await listed(clone)).toBe(await listed(shop.workspace));

    shop.write('words.txt', 'other words\n');
    const changed = await build(shop.workspace, shop, url);
    expect(changed.said).not.toMatch(HIT);
    expect(changed.said).toMatch(/words\.txt' modified/);
    expect(changed.made).not.toBe(cold.made);
  });

  test('vp run gets no hit from a server that keeps nothing', { timeout: 2 * MINUTES }, async () => {
    const shop = withTasks();
    const url = await forgetfulServer();
    const builds = [await build(shop.workspace, shop, url), await build(shop.workspace, shop, url)];
    for (const { said } of builds) expect(said).not.toMatch(HIT);
  });

  test('vp run with tokens of main, of a pull request and of a reader', {
    timeout: 4 * MINUTES,
  }, async () => {
    const shop = withTasks();
    await checkScopedBuilds(shop, {
      build(words, url, { token }) {
        shop.write('words.txt', words);
        return build(shop.workspace, shop, url, token);
      },
      hit: HIT,
      denied: /Not uploaded to the remote cache: HTTP status 403[\s\S]*ASSAY_FORBIDDEN/,
      revoked: undefined,
      isSlow: true,
    });
  });
} else {
  test('npm has no vp for this architecture', () => {
    const native = join(TOOLS, `@voidzero-dev/vite-plus-linux-${process.arch}-gnu`);
    expect(existsSync(join(native, `vite-plus.linux-${process.arch}-gnu.node`))).toBe(false);
  });
}

function withTasks(): Workshop {
  const shop = workshop();
  shop.write('package.json', '{ "name": "app", "private": true, "packageManager": "npm@11.0.0" }\n');
  shop.write('vite.config.ts', CONFIG);
  shop.write('build.sh', `${SCRIPT.join('\n')}\n`);
  shop.write('words.txt', 'some words\n');
  shop.write('.gitignore', 'out\nnode_modules\n');
  return shop;
}

/** Its local cache is empty each time. It reads a remote cache only, unless it is told to write. */
async function build(
  workspace: string,
  { folder }: Workshop,
  url: string,
  token = TOKEN,
): Promise<ScopedBuild> {
  for (const path of ['out', 'node_modules']) rmSync(join(workspace, path), { recursive: true, force: true });
  const said = await run([npmTool('vp'), 'run', '--verbose', 'build'], {
    cwd: workspace,
    home: folder,
    env: {
      VP_REMOTE_CACHE_URL: `${url.replace('://', `://token:${token}@`)}/vite-plus/team`,
      VP_REMOTE_CACHE: 'read-write',
    },
  });
  return { said, made: readFileSync(join(workspace, 'out/made'), 'utf8') };
}
