// The workspace's path in a stored log: a placeholder, and the path of the current workspace at a replay.
import { describe, expect, test } from 'vitest';
import { RUN } from '../../../client/limits.ts';
import { type Log, LogRecorder, replay, type StreamName } from '../../../client/process/log.ts';
import { decodeOrder, encodeOrder } from '../../../client/run/log-order.ts';
import { withoutWorkspace, withWorkspace } from '../../../client/run/log-workspace.ts';
import { Random } from '../../rig/random.ts';

type Said = readonly (readonly [StreamName, string | Buffer])[];

function logOf(said: Said): Log {
  const recorder = new LogRecorder();
  for (const [stream, bytes] of said) recorder.add(stream, Buffer.from(bytes));
  return recorder.finish();
}

/** What a terminal shows: the pieces of both streams in their order, those of one stream joined. */
function shown(log: Log): [StreamName, string][] {
  const pieces: [StreamName, string][] = [];
  const to = (stream: StreamName) => ({
    write(bytes: string | Uint8Array) {
      const last = pieces.at(-1);
      const text = Buffer.from(bytes).toString('latin1');
      if (last?.[0] === stream) last[1] += text;
      else pieces.push([stream, text]);
      return true;
    },
  });
  replay(log, { stdout: to('stdout'), stderr: to('stderr') });
  return pieces;
}

/** Stored in one workspace, read in another. */
function moved(log: Log, from: string, to: string): Log {
  const stored = withoutWorkspace(log, from);
  const layout = decodeOrder([encodeOrder(stored)]);
  return withWorkspace({ stdout: stored.stdout, stderr: stored.stderr, ...layout }, to);
}

const HERE = '/home/anna/app';
const THERE = '/srv/checkout/7/app';

const TALK: Said = [
  ['stdout', `cd ${HERE}\n`],
  ['stderr', `${HERE}/a.c:1: warning\n`],
  ['stdout', `made ${HERE}/a.o and ${HERE}/b.o\n`],
  ['stderr', 'done\n'],
];

test('a log is shown as if the command had run in the other workspace', () => {
  const there = TALK.map(([stream, text]) => [stream, text.toString().replaceAll(HERE, THERE)] as const);
  expect(shown(moved(logOf(TALK), HERE, THERE))).toEqual(shown(logOf(there)));
});

test('logs of two workspaces are stored as the same bytes', () => {
  const there = TALK.map(([stream, text]) => [stream, text.toString().replaceAll(HERE, THERE)] as const);
  expect(withoutWorkspace(logOf(TALK), HERE)).toEqual(withoutWorkspace(logOf(there), THERE));
});

describe('in the same workspace a log is shown byte for byte', () => {
  test.each<[string, Said]>([
    ['with the path', TALK],
    ['with nothing', []],
    ['with the text of the placeholder', [['stdout', `/workspace ${HERE} /workspace/x\n`]]],
    ['with bytes that are no text', [['stderr', Buffer.from([0xff, 0, ...Buffer.from(HERE), 0xfe])]]],
    ['with longer names', [['stdout', `${HERE}2 ${HERE}-x ${HERE}.old/x ${HERE}. x${HERE}`]]],
  ])('%s', (_, said) => {
    const log = logOf(said);
    expect(shown(moved(log, HERE, HERE))).toEqual(shown(log));
    expect(shown(moved(log, '/workspace', '/workspace'))).toEqual(shown(log));
  });

  test('whatever it holds (seed 8)', () => {
    const random = new Random(8);
    const parts = [
      HERE,
      '/home/',
      'anna',
      '/app',
      '/workspace',
      ' ',
      '2',
      '\n',
      HERE.slice(0, 7),
      HERE.slice(7),
    ];
    for (let round = 0; round < 500; round++) {
      const said = Array.from(
        { length: random.below(12) },
        () => [random.pick(['stdout', 'stderr'] as const), random.pick(parts)] as const,
      );
      const log = logOf(said);
      const back = moved(log, HERE, HERE);
      expect(back.stdout).toEqual(log.stdout);
      expect(back.stderr).toEqual(log.stderr);
      expect(back.order.reduce((sum, length) => sum + length, 0)).toBe(log.stdout.length + log.stderr.length);
    }
  });
});

test('only the path itself is replaced', () => {
  const log = logOf([['stdout', `${HERE}2 ${HERE}-x ${HERE}.old ${HERE}`]]);
  expect(moved(log, HERE, '/x').stdout.toString()).toBe(`${HERE}2 ${HERE}-x ${HERE}.old /x`);
});

test('a path that was written in two parts is one path', () => {
  const log = logOf([
    ['stdout', 'in /home/an'],
    ['stdout', 'na/app now\n'],
  ]);
  expect(moved(log, HERE, THERE).stdout.toString()).toBe(`in ${THERE} now\n`);
});

test('a path that the other stream interrupted is shown whole', () => {
  const log = logOf([
    ['stdout', 'in /home/an'],
    ['stderr', 'careful\n'],
    ['stdout', 'na/app now\n'],
  ]);
  expect(shown(moved(log, HERE, THERE))).toEqual([
    ['stdout', `in ${THERE}`],
    ['stderr', 'careful\n'],
    ['stdout', ' now\n'],
  ]);
});

test('beyond the limit, places are kept as they are', () => {
  const line = `${HERE}\n`;
  const log = logOf([['stdout', line.repeat(RUN.logPlaces + 2)]]);
  const back = moved(log, HERE, '/x').stdout.toString();
  expect(back.endsWith(`/x\n${line}${line}`)).toBe(true);
  expect(moved(log, HERE, HERE).stdout.equals(log.stdout)).toBe(true);
});

test('the message', () => {
  const stored = withoutWorkspace(logOf(TALK), HERE);
  expect(stored.stdout.toString()).toBe('cd /workspace\nmade /workspace/a.o and /workspace/b.o\n');
  expect(stored.workspaceAt).toEqual({ stdout: [3, 19, 38], stderr: [0] });
  expect(encodeOrder(stored).value.toString('hex')).toBe('0a040e1a2705' + '12030310131a0100');
});

describe('a list of places that does not fit is ignored', () => {
  const log = { stdout: Buffer.from('at /workspace\n'), stderr: Buffer.alloc(0), order: [14] };
  test.each([[[2]], [[100]], [[3, 3]], [[3, 5]], [Array.from({ length: RUN.logPlaces + 1 }, () => 3)]])(
    'places %#',
    (stdout) => {
      expect(withWorkspace({ ...log, workspaceAt: { stdout, stderr: [] } }, HERE)).toEqual(log);
    },
  );

  test('a log that would grow beyond any that is kept', () => {
    const many = Array.from({ length: RUN.logPlaces }, (_, at) => at * 10);
    const stdout = Buffer.from('/workspace'.repeat(RUN.logPlaces));
    const long = `/${'x'.repeat(4000)}`;
    const stored = { stdout, stderr: Buffer.alloc(0), order: [], workspaceAt: { stdout: many, stderr: [] } };
    expect(withWorkspace(stored, long).stdout.length).toBe(stdout.length);
    expect(withWorkspace(stored, HERE).stdout.length).toBe(HERE.length * RUN.logPlaces);
  });

  test('negative places, and an order without any', () => {
    const order = encodeOrder({ order: [3], workspaceAt: { stdout: [5, 1], stderr: [] } });
    expect(decodeOrder([order])).toEqual({ order: [], workspaceAt: { stdout: [], stderr: [] } });
    expect(decodeOrder([])).toEqual({ order: [], workspaceAt: { stdout: [], stderr: [] } });
  });
});
