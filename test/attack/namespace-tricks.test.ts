// Requests that name a namespace in odd ways: a pull request and another tenant spell main's namespace, its
// stored form and its protocols in every part of a URL, a query, a header or a message that takes a name.
// None of these requests reaches what main has stored, or stores something where main looks.
import { expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { openDiskFolder } from '../rig/stores/disk-store.ts';
import { EVERYBODY } from '../server/access/identities.ts';
import { PLAIN } from '../server/protocols/plain.ts';
import { reapiClient } from '../server/protocols/reapi/rig.ts';
import { ask, RawConnection, type TestServer, testServer } from '../server/rig.ts';
import { resultWith } from '../store/content.ts';

const KEY = digestOf(Buffer.from('a key'));
const MAIN = 'acme/app/main';

/** What a person would try to leave the own namespace. */
const TRICKS = [
  MAIN,
  `=/${MAIN}`,
  `../main`,
  `../../main`,
  `../../../../${MAIN}`,
  `./../../main`,
  `%2e%2e/%2e%2e/main`,
  `..%2f..%2fmain`,
  `..%5c..%5cmain`,
  `%3d/${MAIN}`,
  `web/=/${MAIN}`,
  `/${MAIN}`,
  `//${MAIN}`,
  `${MAIN}/`,
  `${MAIN}/=`,
  `~turbo/${MAIN}`,
  `~`,
  `!diverged/${MAIN}`,
  `${MAIN}%00`,
  `${MAIN}%0d%0aassay-namespace:%20${MAIN}`,
  `ACME/APP/MAIN`,
  `acme%2Fapp%2Fmain`,
  `acme／app／main`,
  `асme/app/main`,
  'a/'.repeat(126) + MAIN,
  'x'.repeat(255),
  'x'.repeat(256),
  'x'.repeat(4000),
  '%',
  '%zz',
];

/** Every place in a URL that takes a namespace, a team or a bucket. */
function urlsWith(name: string): string[] {
  return [
    `/${name}/ac/${KEY.hash}`,
    ...PLAIN.map(({ pathsOf }) => pathsOf(KEY.hash)[0].replace('/team/', `/${name}/`)),
    `/turbo/${name}/v8/artifacts/abc`,
    `/v8/artifacts/abc?slug=${name}`,
    `/v8/artifacts/abc?teamId=${name}`,
    `/azure/${name}/blob`,
    `/s3/${name}/key`,
    `/webdav/${name}/file`,
  ];
}

const IN_MAIN = urlsWith('team').concat(
  `/ac/${KEY.hash}`,
  ...PLAIN.map(({ pathsOf }) => pathsOf(KEY.hash)[0].replace('/team/', '/')),
  '/v8/artifacts/abc',
);

const result = (by: string) => resultWith({ stdoutRaw: Buffer.from(by) });

/** The URL goes out as it is written: a client library would tidy it up. */
async function sendRaw(server: TestServer, head: string, body = ''): Promise<string> {
  const connection = await RawConnection.to(server);
  connection.send(
    Buffer.from(
      `${head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  );
  return connection.untilClosed();
}

const bodyFor = (url: string, by: string) =>
  url.includes('/ac/') && !url.startsWith('/ccache') ? result(by).toString('latin1') : by;

test.each(['pull', 'other'])(
  '%s names a namespace in odd ways, and main sees no difference',
  async (name) => {
    const server = await testServer({ identities: EVERYBODY, store: openDiskFolder });
    const asMain = { authorization: 'Bearer main' };
    const seen = async () => {
      const answers = [];
      for (const url of IN_MAIN) {
        const { status, headers, body } = await ask(server.url + url, 'GET', { headers: asMain });
        answers.push({ url, status, namespace: headers['assay-namespace'], body: body.toString('latin1') });
      }
      return answers;
    };
    for (const url of IN_MAIN.slice(0, -1)) {
      const body = Buffer.from(bodyFor(url, 'of main'), 'latin1');
      expect((await ask(server.url + url, 'PUT', { headers: asMain, body })).status).toBeLessThan(300);
    }
    const before = await seen();
    expect(before.filter(({ status }) => status === 200).length).toBe(IN_MAIN.length - 1);
    const credentials = `authorization: Bearer ${name}\r\nx-forwarded-for: 10.0.0.1\r\nx-forwarded-user: main\r\nx-forwarded-host: ${MAIN}\r\nassay-namespace: ${MAIN}`;
    for (const trick of TRICKS)
      for (const url of urlsWith(trick)) {
        const put = await sendRaw(
          server,
          `PUT ${url} HTTP/1.1\r\n${credentials}`,
          bodyFor(url, 'of an attacker'),
        );
        expect(put, url).toMatch(/^HTTP\/1\.1 (2\d\d|4\d\d) /);
        expect(put, url).not.toContain(`\r\nassay-namespace: ${MAIN}`);
        const got = await sendRaw(server, `GET ${url} HTTP/1.1\r\n${credentials}`);
        expect(got, url).toMatch(/^HTTP\/1\.1 (2\d\d|4\d\d) /);
        if (name === 'other') expect(got, url).not.toContain('of main');
      }
    expect(await seen()).toEqual(before);
  },
  120_000,
);

test('instance names and resource names of gRPC lead to the own namespace', async () => {
  const server = await testServer({ identities: EVERYBODY, store: openDiskFolder });
  const as = (name: string) => reapiClient(server.url, { authorization: `Bearer ${name}` });
  const [main, pull, other] = [await as('main'), await as('pull'), await as('other')];
  await main.updateResult(KEY, result('of main'));
  for (const trick of TRICKS.filter((text) => text.isWellFormed()))
    for (const client of [pull, other]) {
      const { status } = await client.in(trick).updateResult(KEY, result('of an attacker'));
      expect(['OK', 'INVALID_ARGUMENT']).toContain(status);
      const answer = await client.in(trick).getResult(KEY);
      expect(Buffer.concat(answer.messages).toString('latin1')).not.toContain('of main');
    }
  expect(Buffer.concat((await main.getResult(KEY)).messages).equals(result('of main'))).toBe(true);
  for (const trick of TRICKS) {
    const answer = await main.in(trick).getResult(KEY);
    expect(Buffer.concat(answer.messages).toString('latin1')).not.toContain('attacker');
  }
});

test('an upload in parts belongs to its namespace, whoever names its id', async () => {
  const server = await testServer({ identities: EVERYBODY, store: openDiskFolder });
  const as = (name: string) => reapiClient(server.url, { authorization: `Bearer ${name}` });
  const [main, pull, other] = [await as('main'), await as('pull'), await as('other')];
  const bytes = Buffer.alloc(3_000_000, 'of main ');
  const { hash, size } = digestOf(bytes);
  const resource = `uploads/an-id/blobs/${hash}/${size}`;
  const half = bytes.subarray(0, 2_000_000);
  await main.write(resource, half, { isFinished: false });
  expect((await main.writeStatus(resource)).committedSize).toBe(half.length);
  const spellings = [resource, `acme/app/main=/${resource}`, `acme/app/main/${resource}`];
  for (const client of [pull, other])
    for (const name of spellings) {
      const status = await client.writeStatus(name).catch(() => undefined);
      expect(status?.committedSize ?? 0).toBe(0);
      await client.write(name, Buffer.alloc(1000, 'x'), { offset: half.length }).catch(() => {});
      await client.write(name, Buffer.alloc(1000, 'x'), { isFinished: false }).catch(() => {});
    }
  const headers = (name: string) => ({ authorization: `Bearer ${name}` });
  for (const name of ['pull', 'other'])
    expect(await ask(`${server.url}/uploads/${hash}`, 'DELETE', { headers: headers(name) })).toMatchObject({
      status: 204,
    });
  expect((await main.writeStatus(resource)).committedSize).toBe(half.length);
  await main.write(resource, bytes.subarray(half.length), { offset: half.length });
  expect((await main.readBytes(`blobs/${hash}/${size}`)).equals(bytes)).toBe(true);
  expect(await other.writeStatus(resource)).toMatchObject({ complete: false });
});

/** In a URL without a base path, `/login/ac/KEY` and the others would be addresses of pages. */
test.each(['action', 'api', 'hermeticity', 'login', 'logout', 'misses', 'runs', 'setup', 'storage'])(
  'no request has the namespace or the bucket %s, which is a page',
  async (name) => {
    const server = await testServer();
    /** Below /webdav/ the whole path is a key. */
    const urls = [...urlsWith(name), ...urlsWith(`${name}/below`).slice(0, 3)];
    for (const url of urls.filter((one) => !one.startsWith('/webdav/'))) {
      expect(await sendRaw(server, `PUT ${url} HTTP/1.1`, 'x'), url).toContain('ASSAY_BAD_NAMESPACE');
      expect(await sendRaw(server, `GET ${url} HTTP/1.1`), url).toContain('ASSAY_BAD_NAMESPACE');
    }
    const client = (await reapiClient(server.url)).in(name);
    expect(await client.getResult(KEY)).toMatchObject({ status: 'INVALID_ARGUMENT' });
  },
);
