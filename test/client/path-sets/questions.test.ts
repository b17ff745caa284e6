// What a command learns about the machine without naming a path: addresses, the user, sockets that leave a sandbox.
// Another machine is a network namespace, or a mount namespace with another password file.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Summary, summaryOf, Workshop } from '../../rig/assay.ts';
import { inNamespaces } from '../../rig/users.ts';
import { Machine } from './machine.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

const NETWORK = inNamespaces('--net');

async function run(wrapper: readonly string[], script: string, ...flags: string[]): Promise<Summary> {
  const args = ['run', '--json', '--output=o', ...flags, '--', 'sh', '-c', script];
  return summaryOf(await shop.assayIn(wrapper, args));
}

describe('addresses of the machine', () => {
  const SCRIPTS = {
    'hostname -I': 'hostname -I > o',
    'ip addr': 'ip -o addr > o',
    "Node's networkInterfaces": `node -p 'JSON.stringify(os.networkInterfaces())' > o`,
  };

  test.each(Object.entries(SCRIPTS))(
    '%s: a hit here, and a miss in another network',
    async (_name, script) => {
      expect(await run(['env'], script)).toMatchObject({
        outcome: 'miss',
        published: true,
        status: 'observed',
      });
      const here = readFileSync(join(shop.workspace, 'o'), 'utf8');
      expect(await run(['env'], script)).toMatchObject({ outcome: 'hit-local' });
      expect(await run(['env'], script)).toMatchObject({ outcome: 'hit-local' });
      const there = await run(NETWORK, script);
      expect(there).toMatchObject({ outcome: 'miss' });
      expect(there.reason).toContain('the addresses of the machine');
      expect(readFileSync(join(shop.workspace, 'o'), 'utf8')).not.toBe(here);
    },
  );

  test('a command that does not ask for them is a hit in another network', async () => {
    const script = 'sort < /dev/null > o; ls / > /dev/null';
    expect(await run(['env'], script)).toMatchObject({ outcome: 'miss', published: true });
    expect(await run(NETWORK, script)).toMatchObject({ outcome: 'hit-local' });
  });

  test('a strict run does not publish them', async () => {
    const { summary } = await shop.run([
      '--hermetic=strict',
      '--output=o',
      '--',
      'sh',
      '-c',
      'hostname -I > o',
    ]);
    expect(summary).toMatchObject({ published: false, status: 'observed' });
  });
});

describe("the user's name", () => {
  /** A machine on which the password file has this name for the user of this process. */
  function named(name: string): Machine {
    const file = join(shop.folder, `passwd-${name}`);
    const uid = process.getuid?.();
    const others = readFileSync('/etc/passwd', 'utf8').replaceAll(
      new RegExp(`^[^:]*:x:${uid}:.*\n`, 'gm'),
      '',
    );
    writeFileSync(file, `${name}:x:${uid}:${uid}::/root:/bin/sh\n${others}`);
    return new Machine({ '/etc/passwd': file });
  }
  const SCRIPT = ['--output=o', '--', 'sh', '-c', 'echo alicexyz > o'];

  test('in an output is a fact, also where the outputs are in place', async () => {
    const alice = named('alicexyz');
    expect((await alice.run(shop, SCRIPT)).summary.outcome).toBe('miss');
    for (let again = 0; again < 3; again++)
      expect((await alice.run(shop, SCRIPT)).summary.outcome).toBe('hit-local');
    const { summary } = await named('bobxyz').run(shop, SCRIPT);
    expect(summary).toMatchObject({ outcome: 'miss' });
    expect(summary.reason).toContain('the user name');
  });

  test('is not what $USER says', async () => {
    const as = (USER: string) => shop.run(SCRIPT, { env: { USER } });
    expect((await as('alicexyz')).summary.outcome).toBe('miss');
    expect((await as('alicexyz')).summary.outcome).toBe('hit-local');
    expect((await as('bob')).summary.outcome).toBe('hit-local');
  });
});

test('a socket of another family leaves the sandbox, so its result is not kept', async () => {
  const connect = 'import socket; s = socket.socket(40, socket.SOCK_STREAM); s.connect((2, 1))';
  const script = `/usr/bin/python3 -c '${connect}' 2> /dev/null; echo done > o`;
  expect(await run(['env'], script, '--sandbox')).toMatchObject({ published: false, status: 'unproven' });
  expect(await run(['env'], script)).toMatchObject({ published: false, status: 'unproven' });
});

test('a command in the sandbox depends on no address of the machine', async () => {
  expect(await run(['env'], 'hostname -I > o', '--sandbox')).toMatchObject({ published: true });
  expect(await run(NETWORK, 'hostname -I > o', '--sandbox')).toMatchObject({ outcome: 'hit-local' });
});
