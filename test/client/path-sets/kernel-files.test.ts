// Facts about kernel files: a result that read /proc/cpuinfo is shared with machines that have the same
// processors, at any clock rate. What a runtime reads at its start does not count. Another machine is a mount
// namespace with other files.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { kernelFileState } from '../../../client/path-sets/kernel-files.ts';
import { type Summary, Workshop } from '../../rig/assay.ts';
import { factIs } from '../run/misses.ts';
import { Machine } from './machine.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

/** This machine's file, changed. */
function changed(path: string, change: (text: string) => string): Machine {
  const file = join(shop.folder, path.replaceAll('/', '-'));
  const before = readFileSync(path, 'latin1');
  const after = change(before);
  expect(after).not.toBe(before);
  writeFileSync(file, after, 'latin1');
  return new Machine({ [path]: file });
}

const HERE = new Machine({});

async function on(machine: Machine, ...command: string[]): Promise<Summary> {
  return (await machine.run(shop, ['--output=out', '--', ...command])).summary;
}

function sh(machine: Machine, script: string): Promise<Summary> {
  return on(machine, 'sh', '-c', script);
}

describe('/proc/cpuinfo', () => {
  const READ = 'wc -l < /proc/cpuinfo > out';

  test('another clock rate is a hit', async () => {
    const faster = changed('/proc/cpuinfo', (text) => text.replaceAll(/^(bogomips\s*:).*/gim, '$1 1.00'));
    expect(await sh(HERE, READ)).toMatchObject({ outcome: 'miss', published: true });
    expect(await sh(faster, READ)).toMatchObject({ outcome: 'hit-local' });
  });

  test('other features are a miss that names the file', async () => {
    const other = changed('/proc/cpuinfo', (text) =>
      text.replaceAll(/^((?:flags|features)\s*:.*)/gim, '$1 assay'),
    );
    expect(await sh(HERE, READ)).toMatchObject({ outcome: 'miss', published: true });
    expect(await sh(other, READ)).toMatchObject({
      outcome: 'miss',
      reason: expect.stringContaining(factIs("the machine's /proc/cpuinfo", 'another')),
    });
    expect(await sh(HERE, READ)).toMatchObject({ outcome: 'hit-local' });
  });

  test('another number of processors is a miss', async () => {
    const other = changed(
      '/proc/cpuinfo',
      (text) => `${text}\n${text.replaceAll(/^(processor\s*:).*/gm, '$1 99')}`,
    );
    await sh(HERE, READ);
    expect(await sh(other, READ)).toMatchObject({ outcome: 'miss' });
  });
});

describe('/proc/meminfo', () => {
  const less = () => changed('/proc/meminfo', (text) => text.replace(/^MemFree:.*/m, 'MemFree: 1 kB'));
  const smaller = () =>
    changed('/proc/meminfo', (text) => text.replace(/^MemTotal:.*/m, 'MemTotal: 9999999 kB'));

  test('less free memory is a hit, less memory is a miss', async () => {
    const read = 'grep Total /proc/meminfo > out';
    expect(await sh(HERE, read)).toMatchObject({ outcome: 'miss', published: true });
    expect(await sh(less(), read)).toMatchObject({ outcome: 'hit-local' });
    expect(await sh(smaller(), read)).toMatchObject({
      outcome: 'miss',
      reason: expect.stringContaining(factIs("the machine's /proc/meminfo", 'another')),
    });
  });

  test('what Node reads at its start does not count, what its script reads does', async () => {
    const write = (text: string) => ['node', '-e', `require("fs").writeFileSync("out", String(${text}))`];
    for (const command of [write('1'), write('require("os").totalmem()')])
      expect(await on(HERE, ...command)).toMatchObject({ outcome: 'miss', published: true });
    expect(await on(smaller(), ...write('1'))).toMatchObject({ outcome: 'hit-local' });
    expect(await on(smaller(), ...write('require("os").totalmem()'))).toMatchObject({ outcome: 'miss' });
  });
});

describe('a file of /proc/sys', () => {
  test('is compared by its content', async () => {
    const read = 'cat /proc/sys/kernel/pid_max > out';
    const other = changed('/proc/sys/kernel/pid_max', () => '12345\n');
    expect(await sh(HERE, read)).toMatchObject({ outcome: 'miss', published: true });
    expect(await sh(other, read)).toMatchObject({ outcome: 'miss' });
    expect(readFileSync(join(shop.workspace, 'out'), 'utf8')).toBe('12345\n');
    expect(await sh(HERE, read)).toMatchObject({ outcome: 'hit-local' });
  });

  test('that was not there is a fact too', async () => {
    const seek = 'test -e /proc/sys/kernel/assay || echo none > out';
    expect(await sh(HERE, seek)).toMatchObject({ outcome: 'miss', published: true });
    expect((await shop.assay(['show', (await sh(HERE, seek)).key])).stdout).toContain(
      '/proc/sys/kernel/assay',
    );
  });
});

test('a result with such a fact is compared at each hit: no stat shows that the file has changed', async () => {
  const read = 'cat /proc/sys/kernel/pid_max > out';
  const other = changed('/proc/sys/kernel/pid_max', () => '12345\n');
  for (let run = 0; run < 3; run++) await sh(HERE, read);
  expect(await sh(HERE, read)).toMatchObject({ outcome: 'hit-local' });
  expect(await sh(other, read)).toMatchObject({ outcome: 'miss' });
});

test.each(['/proc/loadavg', '/proc/1/status', '/proc/net/dev'])(
  'a result that read %s is not kept: nothing can stand for it',
  async (file) => {
    const ran = await sh(HERE, `cat ${file} > out`);
    expect(ran).toMatchObject({ outcome: 'miss', published: false, status: 'unproven' });
  },
);

describe('the state of a kernel file', () => {
  test('tells content, names, a folder, and what is not there', () => {
    expect(kernelFileState('/proc/cpuinfo')).toMatch(/^value [0-9a-f]{64}$/);
    expect(kernelFileState('/sys/class/net/')).toMatch(/^names [0-9a-f]{64}$/);
    expect(kernelFileState('/sys/devices/system/cpu')).toBe('folder');
    expect(kernelFileState('/sys/class/net/assay0/mtu')).toBe('absent');
  });

  test.each([
    '/proc/loadavg',
    '/proc/kmsg',
    '/proc/1/environ',
    '/proc/self/environ',
    '/proc/sys/../kmsg',
    '/proc/sys//kernel/pid_max',
    '/sys/class/net/lo/device/../../secret',
    '/sys/class/net/lo/statistics/rx_bytes',
    '/sys/kernel/debug/tracing/trace_pipe',
    '/etc/shadow',
    'proc/cpuinfo',
    '',
  ])('is unknown for %s, which is not read', (name) => {
    expect(kernelFileState(name)).toBe('unknown');
  });
});
