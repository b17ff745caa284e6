// Memoised calls: what is kept, what is called again, and what is refused.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CallFunction, CallOptions, FunctionCall } from '../../../client/library/library-port.ts';
import { parseHash } from '../../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { openDiskStore } from '../../../store/open.ts';
import { Workshop } from '../../../test/rig/assay.ts';
import { ask, testServer } from '../../../test/server/rig.ts';
import { call } from '../calls/call.ts';
import { CALLS_NAMESPACE } from '../calls/key.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

let calls = 0;
beforeEach(() => {
  calls = 0;
});

const counted =
  (answer: unknown): CallFunction =>
  () => {
    calls++;
    return answer;
  };

const ask1 = (more: Partial<FunctionCall> = {}, answer?: unknown, options: Partial<CallOptions> = {}) =>
  call({ name: 'f', version: '1', workspace: shop.workspace, ...more }, counted(answer), {
    store: shop.store,
    ...options,
  });

describe('an answer is kept and given again', () => {
  test.each<[string, unknown, unknown]>([
    ['JSON', { b: [1, null, 'x'], a: true }, { a: true, b: [1, null, 'x'] }],
    ['null', null, null],
    ['a text', 'answer', 'answer'],
    ['nothing', undefined, undefined],
    ['bytes', Buffer.from([0, 255, 1]), Buffer.from([0, 255, 1])],
    ['many bytes', Buffer.alloc(3_000_000, 7), Buffer.alloc(3_000_000, 7)],
    ['a long text', 'x'.repeat(1_000_000), 'x'.repeat(1_000_000)],
  ])('%s', async (_name, answer, expected) => {
    const first = await ask1({}, answer);
    const second = await ask1({}, 'another answer');
    expect([first.outcome, first.kept, second.outcome]).toEqual(['miss', true, 'hit-local']);
    for (const { value } of [first, second]) {
      if (expected instanceof Buffer) expect(value instanceof Buffer && value.equals(expected)).toBe(true);
      else expect(value).toEqual(expected);
    }
    expect(calls).toBe(1);
    expect(second.key).toBe(first.key);
    expect(second.receipt).toMatchObject({ status: 'unwatched', inputs: 0 });
  });

  test('with files, which replace what lies in the folder', async () => {
    const write: CallFunction = ({ folder, input }) => {
      calls++;
      mkdirSync(join(folder, 'deep'));
      writeFileSync(join(folder, 'deep/file'), String(input));
      writeFileSync(join(folder, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
      symlinkSync('deep/file', join(folder, 'link'));
    };
    const ask2 = (folder: string) =>
      call({ name: 'w', version: '1', input: 'x', folder, workspace: shop.workspace }, write, {
        store: shop.store,
      });
    shop.write('out/old', 'goes');
    expect((await ask2('out')).outcome).toBe('miss');
    const content = () => readdirSync(join(shop.workspace, 'out'), { recursive: true }).sort();
    expect(content()).toEqual(['deep', 'deep/file', 'link', 'tool']);
    rmSync(join(shop.workspace, 'out/deep'), { recursive: true });
    shop.write('out/old', 'goes');
    expect((await ask2('out')).outcome).toBe('hit-local');
    expect(content()).toEqual(['deep', 'deep/file', 'link', 'tool']);
    expect((await ask2('elsewhere/deep')).outcome).toBe('hit-local');
    expect(readFileSync(join(shop.workspace, 'elsewhere/deep/link'), 'utf8')).toBe('x');
    expect(calls).toBe(1);
  });
});

describe('a call is another one with', () => {
  test.each<[string, Partial<FunctionCall>]>([
    ['another name', { name: 'g' }],
    ['another version', { version: '2' }],
    ['another input', { input: { a: 1 } }],
    ['a folder', { folder: 'out' }],
    ['a variable', { environment: ['MODE=x'] }],
    ['a file', { files: ['src'] }],
  ])('%s', async (_name, more) => {
    shop.write('src/a', 'a');
    const plain = await ask1();
    const other = await ask1(more);
    expect([other.outcome, calls]).toEqual(['miss', 2]);
    expect(other.key).not.toBe(plain.key);
  });

  test('other contents of a declared file, or another value of a declared variable', async () => {
    shop.write('src/a', 'a');
    const of = (variables: Record<string, string>) =>
      ask1({ files: ['src'], environment: ['MODE'] }, 1, { variables });
    await of({ MODE: 'x', OTHER: '1' });
    expect((await of({ MODE: 'x', OTHER: '2' })).outcome).toBe('hit-local');
    expect((await of({ MODE: 'y' })).outcome).toBe('miss');
    shop.write('src/a', 'b');
    expect((await of({ MODE: 'x' })).outcome).toBe('miss');
    shop.write('src/a', 'a');
    expect((await of({ MODE: 'x' })).outcome).toBe('hit-local');
  });
});

test('keys in another order are the same input', async () => {
  await ask1({ input: { a: 1, b: { c: 2, d: [3] } } });
  expect((await ask1({ input: { b: { d: [3], c: 2 }, a: 1 } })).outcome).toBe('hit-local');
});

describe('refused, before the function is called', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  test.each<[string, unknown, string]>([
    ['a cycle', cyclic, 'ASSAY_BAD_CALL'],
    ['a function', { f() {} }, 'ASSAY_BAD_CALL'],
    ['a date', new Date(0), 'ASSAY_BAD_CALL'],
    ['a hole', new Array(3), 'ASSAY_BAD_CALL'],
    ['NaN', Number.NaN, 'ASSAY_BAD_CALL'],
    ['bytes', Buffer.from('a'), 'ASSAY_BAD_CALL'],
    ['a huge text', 'x'.repeat(17_000_000), 'ASSAY_BAD_CALL'],
  ])('%s as input', async (_name, input, code) => {
    await expect(ask1({ input })).rejects.toMatchObject({ code });
    expect(calls).toBe(0);
  });

  test.each<[string, object]>([
    ['a misspelt field', { inputs: 1 }],
    ['no name', { name: '' }],
    ['a version that is no text', { version: 1 }],
    ['files that are no list', { files: 'src' }],
    ['the whole workspace as the folder', { folder: '.' }],
  ])('%s', async (_name, more) => {
    await expect(ask1(Object.assign({}, more))).rejects.toMatchObject({ code: 'ASSAY_USAGE' });
    expect(calls).toBe(0);
  });

  test.each(['../out', '/tmp/out', '.assay', '.git/hooks'])('the folder %s', async (folder) => {
    await expect(ask1({ folder })).rejects.toMatchObject({ code: expect.stringMatching(/^ASSAY_/) });
    expect(calls).toBe(0);
  });
});

test.each<[string, unknown]>([
  ['a function', () => 1],
  ['a bigint', 1n],
  ['an instance of a class', new Map()],
])('%s is no answer, and nothing of it is kept', async (_name, answer) => {
  await expect(ask1({}, answer)).rejects.toMatchObject({ code: 'ASSAY_BAD_CALL' });
  expect((await ask1()).outcome).toBe('miss');
});

describe('errors', () => {
  const failing: CallFunction = () => {
    calls++;
    throw new RangeError('no such page');
  };
  const fail = (keepErrors: boolean) =>
    call({ name: 'e', version: '1', workspace: shop.workspace }, failing, { store: shop.store, keepErrors });

  test('are not kept', async () => {
    for (let n = 0; n < 2; n++) await expect(fail(false)).rejects.toThrow(RangeError);
    expect(calls).toBe(2);
  });

  test('are kept and thrown again if that is asked for, and a later answer takes their place', async () => {
    for (let n = 0; n < 2; n++)
      await expect(fail(true)).rejects.toMatchObject({ name: 'RangeError', message: 'no such page' });
    expect(calls).toBe(1);
    const healed = await call({ name: 'e', version: '1', workspace: shop.workspace }, counted('well'), {
      store: shop.store,
    });
    expect([healed.outcome, healed.value]).toEqual(['miss', 'well']);
    expect(
      (
        await call({ name: 'e', version: '1', workspace: shop.workspace }, failing, {
          store: shop.store,
          keepErrors: true,
        })
      ).value,
    ).toBe('well');
  });
});

test('two equal calls at once are one call', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: CallFunction = async ({ folder }) => {
    calls++;
    await held;
    writeFileSync(join(folder, 'f'), 'x');
    return calls;
  };
  const ask3 = (folder: string) =>
    call({ name: 's', version: '1', folder, workspace: shop.workspace }, slow, { store: shop.store });
  const all = ['a', 'b', 'c'].map(ask3);
  await expect.poll(() => calls).toBe(1);
  release();
  expect((await Promise.all(all)).map(({ value }) => value)).toEqual([1, 1, 1]);
  for (const folder of ['a', 'b', 'c']) expect(existsSync(join(shop.workspace, folder, 'f'))).toBe(true);
  expect(calls).toBe(1);
});

test('an input that changes during the call is seen, and the answer is not kept', async () => {
  shop.write('src/a', 'a');
  const changing: CallFunction = () => {
    shop.write('src/a', 'changed');
    return 1;
  };
  const first = await call({ name: 'c', version: '1', files: ['src'], workspace: shop.workspace }, changing, {
    store: shop.store,
  });
  expect([first.kept, first.value]).toEqual([false, 1]);
});

test('a folder behind a link is refused, and what the link leads to stays', async () => {
  const outside = join(shop.folder, 'outside');
  mkdirSync(join(outside, 'x'), { recursive: true });
  symlinkSync(outside, join(shop.workspace, 'link'));
  for (const folder of ['link/x', 'link/y'])
    await expect(ask1({ folder })).rejects.toMatchObject({ code: 'ASSAY_OUTPUT_UNFIT' });
  expect([calls, existsSync(join(outside, 'x'))]).toEqual([0, true]);
});

test('without a usable store the function is called, and its files are in place', async () => {
  const events: string[] = [];
  writeFileSync(join(shop.folder, 'no-folder'), '');
  const { outcome, kept, value } = await call(
    { name: 'f', version: '1', folder: 'out', workspace: shop.workspace },
    ({ folder }) => {
      writeFileSync(join(folder, 'f'), 'x');
      return 5;
    },
    { store: join(shop.folder, 'no-folder'), report: ({ type }) => events.push(type) },
  );
  expect([outcome, kept, value]).toEqual(['miss', false, 5]);
  expect(readFileSync(join(shop.workspace, 'out/f'), 'utf8')).toBe('x');
  expect(events).toContain('store-unusable');
});

test('an answer is shared only if that is asked for, and taken only then', async () => {
  const { url } = await testServer();
  const other = new Workshop();
  const shared = { remote: url, keepUnproven: 'shared' } as const;
  try {
    expect((await ask1({}, 1, { remote: url })).shared).toBe(false);
    const elsewhere = (options: Partial<CallOptions>) =>
      ask1({ workspace: other.workspace }, 2, { store: other.store, ...options });
    expect((await elsewhere(shared)).outcome).toBe('miss');
    expect((await ask1({ version: '2' }, 1, shared)).shared).toBe(true);
    const taken = await elsewhere({ ...shared, store: join(other.folder, 'empty') });
    expect([taken.outcome, taken.value]).toEqual(['hit-remote', 2]);
    const third = { store: join(other.folder, 'third'), remote: url };
    expect((await ask1({ version: '2' }, 3, third)).outcome).toBe('miss');
    const files = await ask1({ folder: 'out' }, 1, shared);
    expect(
      (await ask1({ folder: 'out' }, 1, { ...shared, store: join(other.folder, 'fourth') })).outcome,
    ).toBe('hit-remote');
    expect((await ask(`${url}/ac/${files.key}`)).status).toBe(404);
    expect((await ask(`${url}/calls/ac/${files.key}`)).status).toBe(200);
  } finally {
    other.remove();
  }
});

test('no run takes an answer: it lies in a namespace of its own, and none is beside the results of runs', async () => {
  const { key } = await ask1();
  const store = await openDiskStore({ directory: shop.store });
  try {
    expect(await store.results.get({ namespace: DEFAULT_NAMESPACE, key: parseHash(key) })).toBeUndefined();
    expect(await store.results.get({ namespace: CALLS_NAMESPACE, key: parseHash(key) })).toBeDefined();
  } finally {
    await store.close();
  }
});

test('a run refuses an answer that lies under the key of its action', async () => {
  const planted = join(shop.folder, 'planted');
  const { key } = await ask1({}, undefined, { store: planted });
  const command = ['--keep-unproven=shared', '--', 'sh', '-c', 'echo ran'];
  const { summary } = await shop.run(command);
  const store = await openDiskStore({ directory: planted });
  try {
    const answer = await store.results.get({ namespace: CALLS_NAMESPACE, key: parseHash(key) });
    if (!answer) throw new Error('there is no answer');
    await store.results.put({ namespace: DEFAULT_NAMESPACE, key: parseHash(summary.key) }, answer.bytes);
  } finally {
    await store.close();
  }
  const ran = await shop.run(['--store', planted, ...command]);
  expect([ran.stdout, ran.summary.outcome, ran.summary.key]).toEqual(['ran\n', 'miss', summary.key]);
  expect(ran.summary.reason).toMatch(/^refused: /);
});

describe('two processes', () => {
  const LIBRARY = join(import.meta.dirname, '../../../bin/library.ts');

  /** Calls a function that takes a while, and notes each call in a file. */
  const program = (ms: number) => `
    import { appendFileSync, writeFileSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    import { call } from ${JSON.stringify(LIBRARY)};
    const { value } = await call(
      { name: 'slow', version: '1', input: { a: 1 }, folder: 'out-' + process.env.NAME },
      async ({ folder }) => {
        appendFileSync('calls', process.env.NAME + '\\n');
        await sleep(${ms});
        writeFileSync(folder + '/file', 'made');
        return 'answer';
      },
    );
    console.log(value);`;

  function start(name: string, ms: number): ChildProcess {
    const env = { ...process.env, ASSAY_STORE: shop.store, NAME: name };
    const args = ['--input-type=module', '--eval', program(ms)];
    return spawn(process.execPath, args, { cwd: shop.workspace, env, stdio: ['ignore', 'pipe', 'inherit'] });
  }

  const noted = () => readFileSync(join(shop.workspace, 'calls'), 'utf8').trim().split('\n');

  async function end(child: ChildProcess): Promise<string> {
    let said = '';
    child.stdout?.on('data', (bytes: Buffer) => {
      said += bytes.toString();
    });
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
    return said.trim();
  }

  test('that make the same call at once make one call, and both get the answer and its files', async () => {
    const said = await Promise.all(['a', 'b', 'c'].map((name) => end(start(name, 1500))));
    expect(said).toEqual(['answer', 'answer', 'answer']);
    expect(noted()).toHaveLength(1);
    for (const name of ['a', 'b', 'c'])
      expect(readFileSync(join(shop.workspace, `out-${name}/file`), 'utf8')).toBe('made');
  });

  test('of which the first is killed: the second calls, and no part of an answer is seen', async () => {
    const killed = start('killed', 600_000);
    // The file is there before its text is: the child opens it and writes it by two system calls.
    await expect
      .poll(() => existsSync(join(shop.workspace, 'calls')) && noted(), { timeout: 60_000 })
      .toEqual(['killed']);
    killed.kill('SIGKILL');
    await once(killed, 'close');
    expect(await end(start('second', 1))).toBe('answer');
    expect(noted()).toEqual(['killed', 'second']);
    expect(existsSync(join(shop.workspace, 'out-killed'))).toBe(false);
  });
});
