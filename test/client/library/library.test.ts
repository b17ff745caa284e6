// The library accepts what its types say, and refuses anything else with a message.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keyOf, run } from '../../../bin/library.ts';
import { checkAction } from '../../../client/library/arguments.ts';
import type { ActionDeclaration, LibraryOptions } from '../../../client/library/library.ts';
import { isNewEnough, refuseOldNode } from '../../../client/library/node-version.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

/** As a program without types might write it. */
const untyped = (fields: object): ActionDeclaration => Object.assign({ command: ['true'] }, fields);

describe('an action is refused, and the error names the field', () => {
  test.each([
    [{ input: ['src/**'] }, 'action has no field "input"; did you mean inputs?'],
    [{ somethingElse: 1 }, 'action has no field "somethingElse"'],
    [{ inputs: 'src/**' }, 'inputs takes a list of texts, not "src/**"'],
    [{ outputs: [1] }, 'outputs takes a list of texts, not [1]'],
    [{ env: { CI: '1' } }, 'env takes a list of texts, not {"CI":"1"}'],
    [{ command: 'true' }, 'command takes a list of texts, not "true"'],
    [{ command: undefined }, 'action needs the field command'],
    [{ command: [] }, 'there is no command to run'],
    [{ hermetic: 'yes' }, 'hermetic takes one of off, warn, strict, not "yes"'],
    [{ sandbox: 'no' }, 'sandbox takes true or false, not "no"'],
    [{ checkpoint: { folder: 'x' } }, 'checkpoint has no field "folder"; did you mean folders?'],
    [{ checkpoint: { folders: ['x'], keep: 0 } }, 'keep takes a whole number above 0, not 0'],
    [{ workspace: '/no/such' }, 'the workspace "/no/such" is not a folder'],
  ])('%j', async (fields, detail) => {
    const refusal = { code: 'ASSAY_USAGE', detail };
    await expect(run(untyped(fields), { store: shop.store })).rejects.toMatchObject(refusal);
    await expect(keyOf(untyped(fields), { store: shop.store })).rejects.toMatchObject(refusal);
  });

  test('a value that JSON cannot express', () => {
    expect(() => checkAction(untyped({ cwd: 5n }))).toThrow('cwd takes a text, not a bigint');
    const inputs = ['a', 'b'];
    delete inputs[0];
    expect(() => checkAction(untyped({ inputs }))).toThrow('inputs takes a list of texts, not [null,"b"]');
  });

  test.each([undefined, null, [], 'true'])('%j', (action) => {
    expect(() => checkAction(action)).toThrow('action must be an object');
  });
});

test('misspelt options are refused too', async () => {
  const misspelt: LibraryOptions = Object.assign({ store: shop.store }, { remotes: 'http://127.0.0.1' });
  await expect(run(untyped({}), misspelt)).rejects.toMatchObject({
    detail: 'options has no field "remotes"; did you mean remote?',
  });
});

test('an undefined field counts as absent', async () => {
  const action = { command: ['true'], workspace: shop.workspace, inputs: undefined, checkpoint: undefined };
  const options = { store: shop.store, remote: undefined };
  expect(await run(action, options)).toMatchObject({ outcome: 'miss', exitCode: 0 });
});

test('a Node without a function that the library needs is refused with a message', () => {
  const fit = ['20.20.2', '22.18.0', '22.19.0', '23.11.0', '24.0.0', '26.10.0'].filter(isNewEnough);
  expect(fit).toEqual(['22.19.0', '24.0.0', '26.10.0']);
  expect(() => refuseOldNode('20.20.2')).toThrow('needs Node 22.19 or later, and this is 20.20.2');
});

test('an abort signal ends the command, and the run rejects', async () => {
  const stop = new AbortController();
  const report = () => {};
  const action = { ...ENDLESS, workspace: shop.workspace };
  const ran = run(action, { store: shop.store, signal: stop.signal, report });
  await expect.poll(() => shop.has('begun')).toBe(true);
  stop.abort(new Error('no longer wanted'));
  await expect(ran).rejects.toMatchObject({
    code: 'ASSAY_INTERRUPTED',
    detail: 'no longer wanted',
    hint: expect.any(String),
  });
  await expect(run(action, { store: shop.store, signal: stop.signal })).rejects.toMatchObject({
    code: 'ASSAY_INTERRUPTED',
  });
});

const ENDLESS = { command: ['sh', '-c', 'echo > begun; while :; do sleep 0.05; done'], outputs: ['begun'] };

test('the summary says why nothing was published, and `force` runs a cached action', async () => {
  const action = (script: string) => ({
    command: ['sh', '-c', script],
    workspace: shop.workspace,
    outputs: ['out'],
  });
  const failed = await run(action('exit 3'), { store: shop.store });
  expect(failed).toMatchObject({ exitCode: 3, published: false, notPublished: 'it ended with 3' });
  const made = action('echo x > out');
  expect(await run(made, { store: shop.store })).toMatchObject({ outcome: 'miss', published: true });
  expect(await run(made, { store: shop.store })).toMatchObject({ outcome: 'hit-local' });
  expect(await run(made, { store: shop.store, force: true })).toMatchObject({
    outcome: 'miss',
    reason: 'forced',
    published: true,
  });
});
