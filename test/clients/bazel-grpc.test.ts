// Debian's Bazel with `--remote_cache=grpc://…`: a clean build gets the results that an earlier build stored.
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Store } from '../../store/store.ts';
import { DEFAULT_FORM } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';
import { openMemoryStore } from '../rig/stores/memory/store.ts';
import { testServer } from '../server/rig.ts';
import { BazelWorkspace, EXPECTED_OUTPUTS } from './bazel.ts';
import { workshop } from './rig.ts';
import { checkScopedBuilds } from './scoped-builds.ts';

const MINUTES = 60_000;
const workspace = new BazelWorkspace();

afterAll(() => workspace.remove(), MINUTES);

test.each([DEFAULT_FORM, 'executable'] as const)(
  'a second, clean build gets every action from the server: %s',
  { timeout: 4 * MINUTES },
  async (form) => {
    const server = await ServerProcess.start(join(workspace.folder, `store-${form}`), { form });
    try {
      const remote = server.url.replace('http:', 'grpc:');
      const { cold, warm } = await workspace.coldAndWarm(remote, '--remote_instance_name=my/project');
      expect(cold.said).not.toContain('remote cache hit');
      expect(cold.said).not.toContain('WARNING');
      expect(warm.said).toMatch(/\b3 remote cache hit/);
      expect(warm.outputs).toEqual(cold.outputs);
      expect(cold.outputs).toEqual(EXPECTED_OUTPUTS);
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      expect(metrics).toContain('assay_lookups_total{kind="ac",outcome="hit"} 3');
      expect(metrics).toContain('assay_grpc_calls_total{method="ActionCache.GetActionResult",status="OK"} 3');
      expect(metrics).not.toMatch(/status="(UNKNOWN|INTERNAL|INVALID_ARGUMENT)"/);
    } finally {
      await server.stop();
    }
  },
);

test('Bazel reads from a read-only server, and warns that it accepts no uploads', {
  timeout: 4 * MINUTES,
}, async () => {
  const store = join(workspace.folder, `store-${DEFAULT_FORM}`);
  const server = await ServerProcess.start(store, { args: ['--read-only'] });
  try {
    const remote = server.url.replace('http:', 'grpc:');
    await workspace.bazel('clean');
    const { said } = await workspace.build(remote, '--remote_instance_name=my/project');
    expect(said).toMatch(/\b3 remote cache hit/);
    expect(said).not.toContain('WARNING');
    await workspace.bazel('clean');
    expect((await workspace.build(remote)).said).toMatch(/WARNING: Writing to Remote Cache/);
  } finally {
    await server.stop();
  }
});

/** Without --remote_local_fallback, Bazel ends with an error if the server refuses its token. */
test('Bazel with tokens of main, of a pull request and of a reader', { timeout: 6 * MINUTES }, async () => {
  await checkScopedBuilds(workshop(), {
    async build(words, url, { token }) {
      workspace.write(words);
      await workspace.bazel('clean');
      const header = `--remote_header=authorization=Bearer ${token}`;
      return workspace.build(url.replace('http:', 'grpc:'), header, '--remote_local_fallback');
    },
    hit: /\b3 remote cache hit/,
    denied: /WARNING/,
    revoked: undefined,
    isSlow: true,
  });
});

/** Proves that the test above can fail: the same build, with a server that keeps nothing. */
test('Bazel gets no hit from a server that keeps nothing', { timeout: 4 * MINUTES }, async () => {
  const server = await testServer({ store: forgetful() });
  const { cold, warm } = await workspace.coldAndWarm(server.url.replace('http:', 'grpc:'));
  expect(warm.said).toMatch(/\b3 local/);
  expect(warm.said).not.toContain('remote cache hit');
  expect(warm.outputs).toEqual(cold.outputs);
});

function forgetful(): Store {
  const store = openMemoryStore();
  return { ...store, results: { ...store.results, get: async () => undefined } };
}
