// /api/v1/openapi.json describes the answers that the server gives.
import { expect, test } from 'vitest';
import { toWire } from '../../../core/digest.ts';
import { Action, Command } from '../../../core/proto/generated/reapi.ts';
import { putOne } from '../../store/content.ts';
import { ask, testServer } from '../rig.ts';
import { miss, reportOf } from './reports.ts';

interface Described {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get: {
          readonly responses: {
            readonly 200: {
              readonly content: {
                readonly 'application/json': {
                  readonly schema: {
                    readonly required: readonly string[];
                    readonly properties: Readonly<Record<string, { readonly type: string }>>;
                  };
                };
              };
            };
          };
        };
      }
    >
  >;
}

test('every answer has the fields that its description names, with their types, and no others', async () => {
  const { url, store } = await testServer();
  const read = async (path: string) => JSON.parse((await ask(`${url}${path}`)).body.toString());
  const report = reportOf([miss('build', { kind: 'input', name: 'a.c' }, 10)]);
  await ask(`${url}/api/v1/runs`, 'POST', { body: Buffer.from(JSON.stringify(report)) });
  const nothing = new Uint8Array(0);
  const root = await putOne(store, Buffer.from('\n\0'));
  const command = await putOne(
    store,
    Buffer.from(Command.encode({ ...Command.decode(nothing), arguments: ['a'] }).finish()),
  );
  const key = async (salt: string) => {
    const message = {
      ...Action.decode(nothing),
      commandDigest: toWire(command),
      inputRootDigest: toWire(root),
    };
    return (await putOne(store, Buffer.from(Action.encode({ ...message, salt: Buffer.from(salt) }).finish())))
      .hash;
  };
  const [one, two] = [await key('1'), await key('2')];
  const { paths }: Described = await read('/api/v1/openapi.json');
  expect(Object.keys(paths)).toHaveLength(11);
  for (const [path, { get }] of Object.entries(paths)) {
    const address = path.replace('{id}', report.id).replace('{key}', one);
    const answer: Record<string, unknown> = await read(
      `${address}${path.endsWith('difference') ? `?to=${two}` : ''}`,
    );
    const { required, properties } = get.responses[200].content['application/json'].schema;
    const types = Object.fromEntries(
      Object.entries(answer).map(([name, value]) => [name, Array.isArray(value) ? 'array' : typeof value]),
    );
    expect({ path, answer: Object.keys(types) }).toEqual({
      path,
      answer: expect.arrayContaining([...required]),
    });
    for (const [name, type] of Object.entries(types))
      expect({ path, name, type: properties[name]?.type }).toEqual({ path, name, type });
  }
});
