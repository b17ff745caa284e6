// Debian's ccache with cmake and ninja, in its three layouts: a build with an empty local cache gets the hits
// that another build stored on the server. ccache's own statistics count them. Each layout runs
// another form of Assay.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Workshop } from '../rig/assay.ts';
import { debianTool, forgetfulServer, MINUTES, run, servedFrom, TOKEN, workshop } from './rig.ts';
import { checkScopedBuilds, type ScopedBuild } from './scoped-builds.ts';

const SOURCES = {
  'CMakeLists.txt':
    'cmake_minimum_required(VERSION 3.20)\nproject(hello C)\nadd_executable(hello main.c greet.c)\n',
  'main.c': 'int greet(void);\nint main(void) { return greet(); }\n',
  'greet.c': '#include <stdio.h>\nint greet(void) { puts("hello"); return 0; }\n',
};
const OBJECTS = ['main.c.o', 'greet.c.o'];
const BEARER = (url: string) => `${url}/ccache/team|bearer-token=${TOKEN}`;
const BASIC = (url: string) => `${url.replace('//', `//user:${TOKEN}@`)}/ccache/team`;

const LAYOUTS = [
  ['subdirs', BEARER, 'source'],
  ['flat', BASIC, 'bundle'],
  ['bazel', BEARER, 'executable'],
] as const;

describe.each(LAYOUTS)('ccache in the layout %s', (layout, address, form) => {
  test('gets hits from the server for objects of another machine', { timeout: 2 * MINUTES }, async () => {
    const shop = withSources();
    const remote = `${address(await servedFrom(shop, form))}|layout=${layout}`;
    const cold = await build(shop, remote);
    const warm = await build(shop, remote);
    expect(cold.stats).toMatchObject({ cache_miss: 2, remote_storage_write: 4, remote_storage_error: 0 });
    expect(warm.stats).toMatchObject({ cache_miss: 0, direct_cache_hit: 2, remote_storage_hit: 2 });
    expect(warm.objects).toEqual(cold.objects);
  });

  test('gets no hit from a server that keeps nothing', { timeout: 2 * MINUTES }, async () => {
    const shop = withSources();
    const remote = `${address(await forgetfulServer())}|layout=${layout}`;
    const cold = await build(shop, remote);
    const warm = await build(shop, remote);
    expect(warm.stats).toMatchObject({ cache_miss: 2, remote_storage_hit: 0, remote_storage_write: 4 });
    expect(warm.objects).toEqual(cold.objects);
  });
});

/** Its objects have a section that no two executions make alike. */
const COMPILER = `#!/bin/sh
id=$(cat /proc/sys/kernel/random/uuid)
for arg; do test "$arg" = -c && set -- "$@" "-DID=\\"$id\\""; done
exec cc "$@"
`;

test('ccache with tokens of main, of a pull request and of a reader', { timeout: 4 * MINUTES }, async () => {
  const shop = workshop();
  const compiler = shop.write('gcc', COMPILER, 0o755);
  await checkScopedBuilds(shop, {
    build(words, url, { token }) {
      shop.write('words.c', `char words[] = "${words}";\nchar id[] = ID;\n`);
      return compile(shop, compiler, `${url}/ccache/team|bearer-token=${token}`);
    },
    hit: /^remote_storage_hit\t[1-9]/m,
    denied: /^remote_storage_error\t[1-9]/m,
    revoked: undefined,
  });
});

/** One file, without cmake: the compiler that ccache starts says it is always the same one. */
async function compile(
  { folder, workspace }: Workshop,
  compiler: string,
  remote: string,
): Promise<ScopedBuild> {
  const cache = join(folder, 'ccache');
  const object = join(workspace, 'words.o');
  for (const old of [cache, object]) rmSync(old, { recursive: true, force: true });
  const options = {
    cwd: workspace,
    home: folder,
    env: {
      CCACHE_DIR: cache,
      CCACHE_CONFIGPATH: '/dev/null',
      CCACHE_COMPILERCHECK: 'string:one',
      CCACHE_REMOTE_STORAGE: remote,
    },
  };
  const ccache = debianTool('ccache');
  await run([ccache, compiler, '-c', 'words.c', '-o', 'words.o'], options);
  return {
    said: await run([ccache, '--print-stats'], options),
    made: readFileSync(object).toString('latin1'),
  };
}

function withSources(): Workshop {
  const shop = workshop();
  for (const [path, text] of Object.entries(SOURCES)) shop.write(path, text);
  return shop;
}

interface Built {
  readonly stats: Readonly<Record<string, number>>;
  readonly objects: readonly Buffer[];
}

/** Builds in a fresh build folder, with an empty cache folder. */
async function build({ folder, workspace }: Workshop, remote: string): Promise<Built> {
  const cache = join(folder, 'ccache');
  for (const old of [cache, join(workspace, 'build')]) rmSync(old, { recursive: true, force: true });
  const options = {
    cwd: workspace,
    home: folder,
    env: { CCACHE_DIR: cache, CCACHE_CONFIGPATH: '/dev/null', CCACHE_REMOTE_STORAGE: remote },
  };
  const ccache = debianTool('ccache');
  const launcher = `-DCMAKE_C_COMPILER_LAUNCHER=${ccache}`;
  await run([debianTool('cmake'), '-S', '.', '-B', 'build', '-G', 'Ninja', launcher], options);
  await run([debianTool('ninja', 'ninja-build'), '-C', 'build'], options);
  const stats = await run([ccache, '--print-stats'], options);
  const lines = stats
    .trim()
    .split('\n')
    .map((line) => line.split('\t'));
  return {
    stats: Object.fromEntries(lines.map(([name, value]) => [name, Number(value)])),
    objects: OBJECTS.map((name) => readFileSync(join(workspace, 'build/CMakeFiles/hello.dir', name))),
  };
}
