// Parsing single lines of strace.
import { describe, expect, it } from 'vitest';
import { bytesOf, errorOf, parseCall, parseLine, pathBehind, stringsIn } from './line.ts';

describe('a line of strace', () => {
  it('that holds a whole call yields its arguments and its result', () => {
    const line =
      '12 1794708652.156406 openat(AT_FDCWD<\\x2f\\x74>, "\\x61\\x2c\\x29", O_RDONLY|O_CLOEXEC) = 3<\\x2f\\x61>';
    expect(parseLine(line)).toEqual({
      pid: 12,
      seconds: 1794708652.156406,
      event: {
        kind: 'call',
        call: {
          name: 'openat',
          arguments: ['AT_FDCWD<\\x2f\\x74>', '"\\x61\\x2c\\x29"', 'O_RDONLY|O_CLOEXEC'],
          result: '3<\\x2f\\x61>',
        },
      },
    });
  });

  it('that holds half a call is joined with the other half', () => {
    const first = parseLine('7  1.5 clone(child_stack=NULL, flags=CLONE_VM|SIGCHLD <unfinished ...>')?.event;
    const second = parseLine('7  1.6 <... clone resumed>) = 8')?.event;
    if (first?.kind !== 'unfinished' || second?.kind !== 'resumed') throw new Error('these are halves');
    expect(parseCall(first.text + second.text)).toEqual({
      name: 'clone',
      arguments: ['child_stack=NULL', 'flags=CLONE_VM|SIGCHLD'],
      result: '8',
    });
  });

  it('distinguishes an exit, an exec by a thread and a signal', () => {
    const kinds = [
      '+++ exited with 0 +++',
      '+++ killed by SIGSEGV (core dumped) +++',
      '+++ killed by SIGRTMIN +++',
      '+++ killed by SIGRT_32 +++',
      '+++ superseded by execve in pid 9 +++',
      '--- SIGCHLD {…} ---',
    ];
    expect(kinds.map((text) => parseLine(`1 2.0 ${text}`)?.event)).toEqual([
      { kind: 'gone', exit: { code: 0 } },
      { kind: 'gone', exit: { signal: 'SIGSEGV' } },
      { kind: 'gone', exit: { signal: 'signal 32' } },
      { kind: 'gone', exit: { signal: 'signal 64' } },
      { kind: 'superseded', by: 9 },
      { kind: 'signal' },
    ]);
  });

  it('that is none of these is not parsed', () => {
    expect([parseLine(''), parseLine('strace: what'), parseLine('1 2.0 nonsense')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('keeps structures, lists and comments in one argument', () => {
    const call = parseCall(
      'x({a=1, b=[2, 3]}, /* 4, 5) */ 6, ["\\x2c", "\\x29"]) = -1 ENOENT (No such file, sorry)',
    );
    expect(call?.arguments).toEqual(['{a=1, b=[2, 3]}', '/* 4, 5) */ 6', '["\\x2c", "\\x29"]']);
    expect(errorOf(call?.result ?? '')).toBe('ENOENT');
  });
});

describe('an argument', () => {
  it('in quotes is decoded to bytes; a truncated string or a non-string yields nothing', () => {
    expect(bytesOf('"\\xff\\x0a"')).toEqual(Buffer.from([0xff, 0x0a]));
    expect([bytesOf('NULL'), bytesOf('"\\x61"...'), bytesOf('0xffff'), bytesOf(undefined)]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('that is a file descriptor yields its path only if it has one', () => {
    expect(pathBehind('3<\\x2f\\x61>')).toEqual(Buffer.from('/a'));
    expect([
      pathBehind('3<\\x70\\x69\\x70\\x65>'),
      pathBehind('3<\\x2f\\x61>(deleted)'),
      pathBehind('3'),
    ]).toEqual([undefined, undefined, undefined]);
  });

  it('in a list is split into its values', () => {
    expect(stringsIn('["\\x61", "\\x62\\x63"]').map(String)).toEqual(['a', 'bc']);
  });
});
