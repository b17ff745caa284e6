// /api/v1/openapi.json describes the answers that the server gives, down to the last field.
import { expect, test } from 'vitest';
import { toWire } from '../../../core/digest.ts';
import { Action, Command } from '../../../core/proto/generated/reapi.ts';
import { ask } from '../../../test/server/rig.ts';
import { putOne, resultWith } from '../../../test/store/content.ts';
import { miss, reportOf } from './reports.ts';
import { testServer } from './rig.ts';

interface Schema {
  readonly type: string;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Described {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly get: {
          readonly responses: {
            readonly 200: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
          };
        };
      }
    >
  >;
}

/** Where an answer and its description differ. */
function differences(value: unknown, schema: Schema | undefined, at: string): string[] {
  if (!schema) return [`${at} is not described`];
  const type = Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;
  const fits = type === schema.type || (type === 'integer' && schema.type === 'number');
  if (schema.enum && !schema.enum.includes(value)) return [`${at} is ${value}, which its description lacks`];
  if (!fits) return [`${at} is ${type}, described as ${schema.type}`];
  if (Array.isArray(value))
    return value.flatMap((one, index) => differences(one, schema.items, `${at}[${index}]`));
  if (typeof value !== 'object' || value === null) return [];
  const { required = [], properties = {} } = schema;
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => `${at}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, one]) => differences(one, properties[name], `${at}.${name}`)),
  ];
}

test('every answer has the fields that its description names, with their types, and no others', async () => {
  const { url, store } = await testServer();
  const read = async (path: string) => JSON.parse((await ask(`${url}${path}`)).body.toString());
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
  await ask(`${url}/ac/${one}`, 'PUT', { body: resultWith({}) });
  await ask(`${url}/ac/${one}`);
  await ask(`${url}/ac/${two}`);
  const findings = [{ kind: 'read', path: 'a.h', detail: '' }];
  const step = {
    ...miss('build', { kind: 'input', name: 'a.c' }, 10),
    key: one,
    status: 'observed' as const,
  };
  const report = reportOf([{ ...step, findings }], { warnings: ['a warning'] });
  expect(
    (await ask(`${url}/api/v1/runs`, 'POST', { body: Buffer.from(JSON.stringify(report)) })).status,
  ).toBe(201);

  const { paths }: Described = await read('/api/v1/openapi.json');
  expect(Object.keys(paths)).toHaveLength(13);
  for (const [path, { get }] of Object.entries(paths)) {
    const address = path.replace('{id}', report.id).replace('{key}', one);
    const answer: unknown = await read(`${address}${path.endsWith('difference') ? `?to=${two}` : ''}`);
    const { schema } = get.responses[200].content['application/json'];
    expect(differences(answer, schema, path)).toEqual([]);
  }
  const { get } = paths['/api/v1/misses'] ?? {};
  expect(
    get?.responses[200].content['application/json'].schema.properties?.causes?.items?.properties,
  ).toMatchObject({
    steps: { type: 'array', items: { required: ['step', 'count', 'lostMs'] } },
  });
});
