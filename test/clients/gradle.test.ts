// Debian's Gradle with its HTTP build cache: a task whose outputs and local cache are deleted is FROM-CACHE.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { debianTool, forgetfulServer, MINUTES, run, servedFrom, TOKEN, workshop } from './rig.ts';

const BUILD = `
task shout {
  inputs.file 'words.txt'
  outputs.file "$buildDir/shouted.txt"
  outputs.cacheIf { true }
  doLast { file("$buildDir/shouted.txt").text = file('words.txt').text.toUpperCase() }
}
`;

/** One JVM for all builds, because it takes longer to start than they run. */
const machine = new Workshop();

afterAll(async () => {
  await gradle(machine, '--stop');
  machine.remove();
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

function withProject(): Workshop {
  const shop = workshop();
  shop.write('build.gradle', BUILD);
  shop.write('words.txt', 'some words\n');
  return shop;
}

interface Built {
  readonly said: string;
  readonly output: string;
}

async function coldAndWarm(shop: Workshop, url: string): Promise<{ cold: Built; warm: Built }> {
  shop.write('settings.gradle', settings(url));
  return { cold: await build(shop), warm: await build(shop) };
}

function settings(url: string): string {
  const credentials = `credentials { username = 'anybody'; password = '${TOKEN}' }`;
  return `rootProject.name = 'hello'
buildCache {
  local { enabled = false }
  remote(HttpBuildCache) { url = '${url}/gradle/team/'; push = true; ${credentials} }
}
`;
}

async function build(shop: Workshop): Promise<Built> {
  for (const old of ['build', '.gradle']) rmSync(join(shop.workspace, old), { recursive: true, force: true });
  const said = await gradle(shop, '--build-cache', '--console=plain', 'shout');
  const output = join(shop.workspace, 'build', 'shouted.txt');
  return { said, output: existsSync(output) ? readFileSync(output, 'utf8') : '' };
}

/** Holds no build outputs. Its JVM ends on its own if this process dies before stopping it. */
function gradle({ workspace }: Workshop, ...args: readonly string[]): Promise<string> {
  const own = ['--gradle-user-home', machine.folder, '-Dorg.gradle.daemon.idletimeout=60000'];
  return run([debianTool('gradle'), ...own, ...args], { cwd: workspace, home: machine.folder });
}
