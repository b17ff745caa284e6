// A command cannot read ASSAY_TOKEN from the processes of Assay above it. Looking there is a finding.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FORMS, type Form, Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const SECRET = 'secret-of-the-token';
const PASSWORD = 'secret-of-the-address';
const env = { ASSAY_TOKEN: SECRET, ASSAY_REMOTE: `http://user:${PASSWORD}@127.0.0.1:9` };

/**
 * Writes the environment of each process above the command, up to the process of this test. A program between them,
 * such as the tracer, is among them.
 */
const LOOK = [
  'pid=$PPID',
  `while [ "$pid" != ${process.pid} ] && [ -r "/proc/$pid/environ" ]; do`,
  '  tr "\\0" "\\n" < /proc/$pid/environ >> out; echo "of $pid" >> out',
  '  pid=$(sed "s/.*) . //; s/ .*//" /proc/$pid/stat)',
  'done',
].join('\n');

const out = () => readFileSync(join(shop.workspace, 'out'), 'utf8');
const look = (form: Form, ...flags: string[]) =>
  shop.run([...flags, '--output', 'out', '--', 'sh', '-c', LOOK], { env, form });

describe.each(Object.keys(FORMS) as Form[])('%s', (form) => {
  test.each(['--hermetic=warn', '--hermetic=off'])(
    '%s: no process of Assay shows the token',
    async (mode) => {
      const ran = await look(form, mode);
      expect(ran.code).toBe(0);
      expect(out()).toMatch(/^PATH=/m);
      expect(out().match(/^of \d+$/gm)?.length).toBeGreaterThan(1);
      expect(out()).not.toContain(SECRET);
      expect(out()).not.toContain(PASSWORD);
    },
  );
});

test('a step, an audit and a second run do not get it either', async () => {
  const steps = { a: { command: ['sh', '-c', LOOK], outputs: ['out'] } };
  shop.write('assay.json', JSON.stringify({ steps }));
  for (const args of [
    ['run', 'a'],
    ['audit', 'a'],
    ['reproduce', 'a'],
  ]) {
    const ran = await shop.assay(args, { env });
    expect(`${ran.stdout}${ran.stderr}${out()}`).not.toContain(SECRET);
  }
});

test('the remote still gets the token and the address', async () => {
  const ran = await shop.assay(['doctor'], { env: { ...env, ASSAY_REMOTE: 'http://cache.invalid' } });
  expect(ran.stdout).toContain('it travels unencrypted to cache.invalid');
  const declared = await shop.run(['--env', 'ASSAY_REMOTE', '--', 'sh', '-c', 'echo "$ASSAY_REMOTE"'], {
    env,
  });
  expect(declared.stdout).toBe(`${env.ASSAY_REMOTE}\n`);
});

test.each([[], ['--keep-unproven=local']])(
  'a result that read such an environment is not kept %s',
  async (...flags) => {
    const script = 'tr "\\0" "\\n" < /proc/$PPID/environ > out';
    const ran = await shop.run([...flags, '--output', 'out', '--', 'sh', '-c', script]);
    expect(ran.summary).toMatchObject({ published: false, status: 'unproven' });
    expect(ran.summary.findings).toContainEqual(
      expect.objectContaining({ kind: 'host', path: expect.stringMatching(/^\/proc\/\d+\/environ$/) }),
    );
    expect(ran.summary.notPublished).toContain('the environment of another process');
  },
);
