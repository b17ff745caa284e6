// Debian's Bazel with `--remote_cache=http://…`: a clean build gets the results that an earlier build stored.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, expect, test } from 'vitest';
import { ServerProcess } from '../rig/server.ts';
import { BazelWorkspace, EXPECTED_OUTPUTS } from './bazel.ts';
import { workshop } from './rig.ts';
import { checkScopedBuilds } from './scoped-builds.ts';

const MINUTES = 60_000;
const workspace = new BazelWorkspace();

afterAll(() => workspace.remove(), MINUTES);

test('a second, clean build gets every action from the server', { timeout: 4 * MINUTES }, async () => {
  const server = await ServerProcess.start(join(workspace.folder, 'store'));
  try {
    const { cold, warm } = await workspace.coldAndWarm(`${server.url}/some/prefix`);
    expect(cold.said).not.toContain('remote cache hit');
    expect(warm.said).toMatch(/\b3 remote cache hit/);
    expect(warm.outputs).toEqual(cold.outputs);
    expect(cold.outputs).toEqual(EXPECTED_OUTPUTS);
    const metrics = await (await request(`${server.url}/metrics`)).body.text();
    expect(metrics).toContain('assay_lookups_total{kind="ac",outcome="hit"} 3');
    expect(metrics).not.toMatch(/status="5xx"/);
  } finally {
    await server.stop();
  }
});

test('Bazel with tokens of main, of a pull request and of a reader', { timeout: 6 * MINUTES }, async () => {
  await checkScopedBuilds(workshop(), {
    async build(words, url, { token }) {
      workspace.write(words);
      await workspace.bazel('clean');
      return workspace.build(`${url}/some/prefix`, `--remote_header=authorization=Bearer ${token}`);
    },
    hit: /\b3 remote cache hit/,
    denied: /WARNING/,
    revoked: undefined,
    isSlow: true,
  });
});

/** Proves that the test above can fail: the same build, with a server that keeps nothing. */
test('Bazel gets no hit from a server that keeps nothing', { timeout: 4 * MINUTES }, async () => {
  const forgetful = createServer((asked, answer) => {
    asked.resume().once('end', () => answer.writeHead(asked.method === 'PUT' ? 200 : 404).end());
  });
  await once(forgetful.listen(0, '127.0.0.1'), 'listening');
  const address = forgetful.address();
  try {
    const port = typeof address === 'object' ? address?.port : undefined;
    const { cold, warm } = await workspace.coldAndWarm(`http://127.0.0.1:${port}/some/prefix`);
    expect(warm.said).toMatch(/\b3 local/);
    expect(warm.said).not.toContain('remote cache hit');
    expect(warm.outputs).toEqual(cold.outputs);
  } finally {
    forgetful.closeAllConnections();
    forgetful.close();
  }
});
