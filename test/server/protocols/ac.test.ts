// /ac over HTTP: a result is accepted and served only while every blob that it references exists.
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { addressOf, contentOf, putOne, resultNaming } from '../../store/content.ts';
import { ask, codeIn, testServer } from '../rig.ts';

const { key } = addressOf('an action');

test('GET returns a result as it was sent', async () => {
  const server = await testServer();
  const result = resultNaming(await putOne(server.store, contentOf('output', 100)));
  const url = `${server.url}/team/ac/${key}`;
  expect(await ask(url, 'PUT', { body: result })).toMatchObject({
    status: 200,
    headers: { 'assay-outcome': 'stored' },
  });
  const got = await ask(url);
  expect(got).toMatchObject({ status: 200, headers: { 'content-type': 'application/x-protobuf' } });
  expect(got.body.equals(result)).toBe(true);
  expect(await ask(url, 'HEAD')).toMatchObject({
    status: 200,
    headers: { 'content-length': String(result.length) },
    body: Buffer.alloc(0),
  });
  expect(await ask(url, 'PUT', { body: result })).toMatchObject({
    headers: { 'assay-outcome': 'unchanged' },
  });
});

test('a result exists only in its namespace', async () => {
  const server = await testServer();
  const result = resultNaming(await putOne(server.store, contentOf('output', 100)));
  await ask(`${server.url}/one/ac/${key}`, 'PUT', { body: result });
  expect(await ask(`${server.url}/one/ac/${key}`)).toMatchObject({ status: 200 });
  expect(await ask(`${server.url}/two/ac/${key}`)).toMatchObject({ status: 404 });
  expect(await ask(`${server.url}/ac/${key}`)).toMatchObject({ status: 404 });
  expect(await server.store.results.get({ namespace: parseNamespace('one'), key })).toBeDefined();
});

test('a result that references a missing blob is refused', async () => {
  const server = await testServer();
  const url = `${server.url}/ac/${key}`;
  const answer = await ask(url, 'PUT', { body: resultNaming(digestOf(contentOf('never sent', 10))) });
  expect([answer.status, codeIn(answer)]).toEqual([409, 'ASSAY_RESULT_INCOMPLETE']);
  expect(await ask(url)).toMatchObject({ status: 404 });
});

test('PUT of a different result for the same key succeeds', async () => {
  const server = await testServer();
  const [first, second] = [contentOf('first', 10), contentOf('second', 10)];
  const [one, two] = [await putOne(server.store, first), await putOne(server.store, second)];
  const url = `${server.url}/ac/${key}`;
  await ask(url, 'PUT', { body: resultNaming(one) });
  expect(await ask(url, 'PUT', { body: resultNaming(two) })).toMatchObject({
    status: 200,
    headers: { 'assay-outcome': 'diverged' },
  });
  expect((await ask(url)).body.equals(resultNaming(one))).toBe(true);
  expect(server.logged()).toContain('store: diverged');
});

test('a body that is not a result is refused', async () => {
  const server = await testServer();
  const answer = await ask(`${server.url}/ac/${key}`, 'PUT', { body: Buffer.from('not a message') });
  expect([answer.status, codeIn(answer)]).toEqual([400, 'ASSAY_RESULT_MALFORMED']);
});

test('a result above the size limit is refused', async () => {
  const server = await testServer({ limits: { maxResultBytes: 100 } });
  const answer = await ask(`${server.url}/ac/${key}`, 'PUT', { body: Buffer.alloc(101) });
  expect([answer.status, codeIn(answer)]).toEqual([413, 'ASSAY_TOO_LARGE']);
});
