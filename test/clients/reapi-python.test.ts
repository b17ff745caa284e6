// An independent REAPI client: Debian's grpcio in Python, with messages generated from the .proto files. One
// process uploads; another downloads and compares, after a restart of the server.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { baseEnvironment, type Ran, RUNTIME_FORMS, runProcess } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';
import { openMemoryStore } from '../rig/stores/memory/store.ts';
import { testServer } from '../server/rig.ts';
import { type Variables, workshop } from './rig.ts';
import { checkScopedBuilds } from './scoped-builds.ts';

const PROTO = join(import.meta.dirname, '../../core/proto');
const CLIENT = join(import.meta.dirname, 'reapi_client.py');
const FILES = ['reapi.proto', 'reapi-services.proto', 'bytestream.proto'];

const folder = mkdtempSync(join(tmpdir(), 'assay-python-'));
const descriptors = join(folder, 'reapi.pb');
/** Python's `build` package, which many machines have: REAPI's packages begin with the same name. */
const decoys = join(folder, 'decoys');

beforeAll(() => {
  mkdirSync(join(decoys, 'build'), { recursive: true });
  writeFileSync(join(decoys, 'build/__init__.py'), '');
  execFileSync('protoc', ['-I', PROTO, '--include_imports', `--descriptor_set_out=${descriptors}`, ...FILES]);
  execFileSync('/usr/bin/python3', ['-c', 'import grpc'], { stdio: 'pipe' });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(RUNTIME_FORMS)('one Python client gets what another one stored: %s', async (form) => {
  const store = join(folder, `store-${form}`);
  const first = await ServerProcess.start(store, { form });
  const put = await python(first.url, 'put');
  await first.stop();
  expect(put.stderr).toBe('');
  expect(JSON.parse(put.stdout)).toMatchObject({
    refusal: expect.stringMatching(/^ASSAY_RESULT_INCOMPLETE/),
    updates: true,
  });
  const second = await ServerProcess.start(store, { form, args: ['--read-only'] });
  const get = await python(second.url, 'get');
  await second.stop();
  expect(get.stderr).toBe('');
  expect(JSON.parse(get.stdout)).toEqual({
    target: '//some:target',
    mnemonic: 'Test',
    bytes: 5_000_000,
    updates: false,
  });
});

test('a Python client with tokens of main, of a pull request and of a reader', async () => {
  await checkScopedBuilds(workshop(), {
    async build(words, url, { token }) {
      const { code, stdout, stderr } = await python(url, 'build', words, { ASSAY_TOKEN: token });
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    },
    hit: /^hit$/,
    denied: /; PERMISSION_DENIED: ASSAY_FORBIDDEN: this needs the right blobs:write$/,
    revoked: undefined,
  });
});

/** Proves that the test above can fail: a server that accepts every upload and returns no result. */
test('the Python client detects a server that keeps nothing', async () => {
  const store = openMemoryStore();
  const forgetful = { ...store, results: { ...store.results, get: async () => undefined } };
  const server = await testServer({ store: forgetful });
  expect(await python(server.url, 'put')).toMatchObject({ code: 0 });
  expect((await python(server.url, 'get')).stderr).toContain('NOT_FOUND');
});

function python(
  url: string,
  verb: 'put' | 'get' | 'build',
  seed = 'a seed',
  variables: Variables = {},
): Promise<Ran> {
  const target = new URL(url).host;
  const command = ['/usr/bin/python3', CLIENT, descriptors, target, 'some/project', seed, verb];
  const env = { ...baseEnvironment(), PYTHONPATH: decoys, PYTHONDONTWRITEBYTECODE: '1', ...variables };
  return runProcess(command, { cwd: folder, env });
}
