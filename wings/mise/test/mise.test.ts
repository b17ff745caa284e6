// The real mise against a server: cold and warm in two clones, with tokens of main and of a pull request.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
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
  'mkdir -p out/deep',
  'tr a-z A-Z < words.txt > out/shouted.txt',
  'cp words.txt out/deep/words.txt',
  'ln -sf shouted.txt out/link',
  'printf "#!/bin/sh\\n" > out/tool && chmod 755 out/tool',
  MAKE,
  'echo built',
];

const TASKS = `
[tasks.build]
run = ${JSON.stringify(SCRIPT)}
sources = ["words.txt"]
outputs = ["out"]
cache = { enabled = true }
`;

const HIT = /restored outputs from cache/;
const MISS = /cache miss: no matching cache entry/;

/** npm has mise for this one architecture of Linux. */
if (process.arch === 'x64') {
  test('mise restores the outputs of another clone from the server', { timeout: 2 * MINUTES }, async () => {
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
    expect(cold.said).toMatch(MISS);
    expect(warm.said).toMatch(HIT);
    expect(warm.said).toMatch(/built/);
    expect(warm.made).toBe(cold.made);
    const listed = (folder: string) =>
      run(['find', 'out', '-printf', '%p %y %m %l\\n'], { cwd: folder, home: shop.folder });
    expect(await listed(clone)).toBe(await listed(shop.workspace));
  });

  test('mise gets no hit from a server that keeps nothing', { timeout: 2 * MINUTES }, async () => {
    const shop = withTasks();
    const url = await forgetfulServer();
    const builds = [await build(shop.workspace, shop, url), await build(shop.workspace, shop, url)];
    for (const { said } of builds) expect(said).toMatch(MISS);
  });

  test('mise with tokens of main, of a pull request and of a reader', { timeout: 4 * MINUTES }, async () => {
    const shop = withTasks();
    await checkScopedBuilds(shop, {
      build(words, url, { token }) {
        shop.write('words.txt', words);
        return build(shop.workspace, shop, url, token);
      },
      hit: HIT,
      denied: /failed to mirror task cache entry .*403 Forbidden/,
      revoked: undefined,
    });
  });
} else {
  test('npm has no mise for this architecture', () => {
    expect(existsSync(join(TOOLS, `@jdxcode/mise-linux-${process.arch}`))).toBe(false);
  });
}

function withTasks(): Workshop {
  const shop = workshop();
  shop.write('mise.toml', TASKS);
  shop.write('words.txt', 'some words\n');
  shop.write('.gitignore', 'out\n');
  return shop;
}

/** As a job on a protected branch: elsewhere mise itself reads only. Its local cache is empty each time. */
async function build(
  workspace: string,
  { folder }: Workshop,
  url: string,
  token = TOKEN,
): Promise<ScopedBuild> {
  const home = join(folder, 'home');
  for (const path of [home, join(workspace, 'out')]) rmSync(path, { recursive: true, force: true });
  mkdirSync(home);
  const said = await run([npmTool('mise'), 'run', 'build'], {
    cwd: workspace,
    home,
    env: {
      MISE_EXPERIMENTAL: '1',
      MISE_TRUSTED_CONFIG_PATHS: workspace,
      MISE_TASK_CACHE_REMOTE_URL: `${url}/mise/`,
      MISE_TASK_CACHE_REMOTE_NAMESPACE: 'team',
      MISE_TASK_CACHE_REMOTE_TOKEN: token,
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      GITHUB_EVENT_NAME: 'push',
      GITHUB_REF_TYPE: 'branch',
      GITHUB_REF: 'refs/heads/main',
      GITHUB_REF_PROTECTED: 'true',
    },
  });
  return { said, made: readFileSync(join(workspace, 'out/made'), 'utf8') };
}
