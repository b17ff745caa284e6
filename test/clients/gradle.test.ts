// Debian's Gradle with its HTTP build cache: a task whose outputs and local cache are deleted is FROM-CACHE.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { debianTool, forgetfulServer, MINUTES, run, servedFrom, TOKEN, workshop } from './rig.ts';
import { checkScopedBuilds, type ScopedBuild } from './scoped-builds.ts';

const BUILD = `
task shout {
  inputs.file 'words.txt'
  outputs.file("$buildDir/shouted.txt").withPropertyName('shouted')
  outputs.file("$buildDir/made").withPropertyName('made')
  outputs.cacheIf { true }
  doLast {
    file("$buildDir/shouted.txt").text = file('words.txt').text.toUpperCase()
    file("$buildDir/made").text = UUID.randomUUID()
  }
}
task last {
  dependsOn shout
  inputs.file 'fixed.txt'
  outputs.file "$buildDir/last.txt"
  outputs.cacheIf { true }
  doLast { file("$buildDir/last.txt").text = file('fixed.txt').text }
}
`;

/** One JVM for all builds, because it takes longer to start than they run. */
const machine = new Workshop();

afterAll(async () => {
  await gradle(machine, '--stop');
  /** The JVM still writes to its folder for a moment after --stop. */
  rmSync(machine.folder, { recursive: true, force: true, maxRetries: 100, retryDelay: 100 });
}, MINUTES);

test('Gradle restores a task’s outputs from the server', { timeout: 4 * MINUTES }, async () => {
  const shop = withProject();
  const { cold, warm } = await coldAndWarm(shop, await servedFrom(shop));
  expect(cold.said).toMatch(/^:shout$/m);
  expect(warm.said).toMatch(/^:shout FROM-CACHE$/m);
  expect([cold.output, warm.output]).toEqual(['SOME WORDS\n', 'SOME WORDS\n']);
});

test('Gradle gets no hit from a server that keeps nothing', { timeout: 4 * MINUTES }, async () => {
  const { warm } = await coldAndWarm(withProject(), await forgetfulServer());
  expect(warm.said).toMatch(/^:shout$/m);
  expect(warm.output).toBe('SOME WORDS\n');
});

/** A denied write leaves the hits of the later tasks. */
test('Gradle with tokens of main, of a pull request and of a reader', { timeout: 6 * MINUTES }, async () => {
  const shop = withProject();
  await checkScopedBuilds(shop, {
    async build(words, url, { token }) {
      shop.write('words.txt', words);
      shop.write('settings.gradle', settings(url, token));
      return build(shop, 'last');
    },
    hit: /^:shout FROM-CACHE$/m,
    denied: /^:last FROM-CACHE$/m,
    revoked: undefined,
    isSlow: true,
  });
});

function withProject(): Workshop {
  const shop = workshop();
  shop.write('build.gradle', BUILD);
  shop.write('words.txt', 'some words\n');
  shop.write('fixed.txt', 'fixed\n');
  return shop;
}

interface Built extends ScopedBuild {
  readonly output: string;
}

async function coldAndWarm(shop: Workshop, url: string): Promise<{ cold: Built; warm: Built }> {
  shop.write('settings.gradle', settings(url));
  return { cold: await build(shop), warm: await build(shop) };
}

function settings(url: string, token = TOKEN): string {
  const credentials = `credentials { username = 'anybody'; password = '${token}' }`;
  return `rootProject.name = 'hello'
buildCache {
  local { enabled = false }
  remote(HttpBuildCache) { url = '${url}/gradle/team/'; push = true; ${credentials} }
}
`;
}

async function build(shop: Workshop, task = 'shout'): Promise<Built> {
  for (const old of ['build', '.gradle']) rmSync(join(shop.workspace, old), { recursive: true, force: true });
  const said = await gradle(shop, '--build-cache', '--console=plain', task);
  const read = (name: string) => {
    const path = join(shop.workspace, 'build', name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  return { said, output: read('shouted.txt'), made: read('made') };
}

/** Holds no build outputs. Its JVM ends on its own if this process dies before stopping it. */
function gradle({ workspace }: Workshop, ...args: readonly string[]): Promise<string> {
  const own = ['--gradle-user-home', machine.folder, '-Dorg.gradle.daemon.idletimeout=60000'];
  return run([debianTool('gradle'), ...own, ...args], { cwd: workspace, home: machine.folder });
}
