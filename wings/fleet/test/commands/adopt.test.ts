// `assay db adopt`, and what servers say while another database owns their objects.
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { baseEnvironment, FORMS, runProcess } from '../../../../test/rig/assay.ts';
import { Serve } from '../../../../test/server/commands/serve-process.ts';
import { ask, pathOf } from '../../../../test/server/rig.ts';
import { contentOf } from '../../../../test/store/content.ts';
import { dbCommand } from '../../commands/db.ts';
import { Dump } from '../rig/dump.ts';
import { freshFleet } from '../rig/services.ts';

type Environment = Readonly<Record<string, string>>;

const db = (env: Environment, ...args: readonly string[]) =>
  runProcess([...FORMS.source, 'db', ...args], { cwd: tmpdir(), env: { ...baseEnvironment(), ...env } });

const serve = (env: Environment) => new Serve(['--port', '0'], env, FORMS.source);

test('a server on a restored dump serves, writes and alarms until `assay db adopt`', async () => {
  const env = { ...(await freshFleet()) };
  expect(await db(env, 'migrate')).toMatchObject({ code: 0 });
  const first = serve(env);
  const bytes = contentOf('shared', 100_000);
  const url = await first.url();
  expect((await ask(url + pathOf(digestOf(bytes)), 'PUT', { body: bytes })).status).toBe(200);

  const staging = { ...env, ASSAY_INDEX: (await freshFleet()).ASSAY_INDEX };
  const dump = await Dump.of(env.ASSAY_INDEX);
  onTestFinished(() => dump.remove());
  await dump.restoreInto(staging.ASSAY_INDEX);
  const copy = serve(staging);
  const copyUrl = await copy.url();
  await copy.said('store: not-owner');
  expect(copy.stderr).toContain('is a copy of another one');
  expect(copy.stderr).toContain('run `assay db adopt`');
  expect((await ask(copyUrl + pathOf(digestOf(bytes)))).body.equals(bytes)).toBe(true);
  const own = contentOf('own', 100_000);
  expect((await ask(copyUrl + pathOf(digestOf(own)), 'PUT', { body: own })).status).toBe(200);
  expect((await ask(`${copyUrl}/readyz`)).status).toBe(200);
  const owners = async (...urls: string[]) =>
    Promise.all(
      urls.map(
        async (of) => /^assay_fleet_owner (\S+)$/m.exec((await ask(`${of}/metrics`)).body.toString())?.[1],
      ),
    );
  expect(await owners(url, copyUrl)).toEqual(['1', '0']);

  const empty = { ...env, ASSAY_INDEX: (await freshFleet()).ASSAY_INDEX };
  await db(empty, 'migrate');
  const stranger = serve(empty);
  expect(await stranger.ended()).toBe(2);
  expect(stranger.stderr).toContain('ASSAY_FLEET_MISMATCH');

  // Nobody can be asked here.
  expect(await db(staging, 'adopt')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('or give --yes'),
  });
  const adopted = await db(staging, 'adopt', '--yes', '--delete-orphans');
  expect(adopted).toMatchObject({ code: 0, stderr: '' });
  expect(adopted.stdout).toMatch(/The bucket names an owner: database \S+ of fleet/);
  expect(adopted.stdout).toContain('This database owns the objects now.');
  expect(adopted.stdout).toContain('0 objects of 3 are orphans');
  expect((await db(staging, 'adopt', '--yes')).stdout).toContain('is the owner of the objects already');

  const again = serve(env);
  await again.url();
  await again.said('has adopted the objects');
}, 300_000);

test.each([
  [['adopt', '--lease', '3h'], '--lease is a flag of `assay db migrate`'],
  [['migrate', '--yes'], '--yes is a flag of `assay db adopt`'],
  [['adopt', '--index', 'postgres://x/y'], 'give the bucket of the fleet by --blobs'],
  [['restore'], 'say `assay db migrate` or `assay db adopt`'],
])('`assay db` refuses %j', async (args, why) => {
  await expect(dbCommand.main(args)).rejects.toThrow(why);
});
