// Debian's Bazel with `--remote_cache=http://…`: what one build put there, a clean one takes from there. Told in Bazel's own
// words, because it alone knows whether it ran an action.
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { baseEnvironment, type Ran, runProcess } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';

const BUILD_FILE = String.raw`
genrule(name = "upper", srcs = ["input.txt"], outs = ["upper.txt"], cmd = "tr a-z A-Z < $< > $@")
genrule(name = "twice", srcs = [":upper"], outs = ["twice.txt"], cmd = "cat $< $< > $@")
genrule(name = "large", outs = ["large.bin"], cmd = "head -c 3000000 /dev/zero | tr '\\0' x > $@")
`;
const OUTPUTS = ['upper.txt', 'twice.txt', 'large.bin'] as const;
const MINUTES = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'assay-bazel-'));
const workspace = join(folder, 'workspace');

beforeAll(() => {
  if (!existsSync('/usr/bin/bazel')) throw new Error('no Bazel: install the Debian package bazel-bootstrap');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'WORKSPACE'), '');
  writeFileSync(join(workspace, 'BUILD'), BUILD_FILE);
  writeFileSync(join(workspace, 'input.txt'), 'some words\n');
});

afterAll(async () => {
  await bazel('shutdown');
  rmSync(folder, { recursive: true, force: true });
}, MINUTES);

test('a second, clean build takes every action from the server', { timeout: 4 * MINUTES }, async () => {
  const server = await ServerProcess.start(join(folder, 'store'));
  try {
    const { cold, warm } = await coldAndWarm(`${server.url}/some/prefix`);
    expect(cold.said).not.toContain('remote cache hit');
    expect(warm.said).toMatch(/\b3 remote cache hit/);
    expect(warm.outputs).toEqual(cold.outputs);
    expect(cold.outputs).toEqual(['SOME WORDS\n', 'SOME WORDS\nSOME WORDS\n', 'x'.repeat(3_000_000)]);
    const metrics = await (await request(`${server.url}/metrics`)).body.text();
    expect(metrics).toContain('assay_lookups_total{kind="ac",outcome="hit"} 3');
    expect(metrics).not.toMatch(/status="5xx"/);
  } finally {
    await server.stop();
  }
});

/** The test above can fail: this is the same probe, on a server that takes everything and gives nothing back. */
test('a server that forgets gives Bazel no hit', { timeout: 4 * MINUTES }, async () => {
  const forgetful = createServer((asked, answer) => {
    asked.resume().once('end', () => answer.writeHead(asked.method === 'PUT' ? 200 : 404).end());
  });
  await once(forgetful.listen(0, '127.0.0.1'), 'listening');
  const address = forgetful.address();
  try {
    const port = typeof address === 'object' ? address?.port : undefined;
    const { cold, warm } = await coldAndWarm(`http://127.0.0.1:${port}/some/prefix`);
    expect(warm.said).toMatch(/\b3 local/);
    expect(warm.said).not.toContain('remote cache hit');
    expect(warm.outputs).toEqual(cold.outputs);
  } finally {
    forgetful.closeAllConnections();
    forgetful.close();
  }
});

interface Built {
  readonly said: string;
  readonly outputs: readonly string[];
}

async function coldAndWarm(remote: string): Promise<{ cold: Built; warm: Built }> {
  await bazel('clean');
  const cold = await build(remote);
  await bazel('clean');
  return { cold, warm: await build(remote) };
}

async function build(remote: string): Promise<Built> {
  const { stderr } = await bazel('build', `--remote_cache=${remote}`, '--spawn_strategy=local', '//:all');
  return {
    said: stderr,
    outputs: OUTPUTS.map((name) => readFileSync(join(workspace, 'bazel-bin', name), 'utf8')),
  };
}

/** Its server ends on its own if this process does not live to tell it. */
async function bazel(command: string, ...args: readonly string[]): Promise<Ran> {
  const startup = ['--nohome_rc', `--output_user_root=${join(folder, 'bazel')}`, '--max_idle_secs=60'];
  const plain = command === 'shutdown' ? [] : ['--color=no', '--curses=no'];
  const ran = await runProcess(['/usr/bin/bazel', ...startup, command, ...plain, ...args], {
    cwd: workspace,
    env: baseEnvironment(),
  });
  if (ran.code !== 0) throw new Error(`bazel ${command} ended with ${ran.code}:\n${ran.stderr}`);
  return ran;
}
