// Reassembling strace's lines: children whose parent never reported them.
import { expect, it } from 'vitest';
import { ReportBuilder } from '../../../hermeticity/trace/report-builder.ts';
import { StraceReassembler } from './reassemble.ts';

function interpret(lines: readonly string[]) {
  const builder = new ReportBuilder<number>();
  const interpreter = new StraceReassembler(builder, Buffer.from('/w'), 1_000_000_000n);
  for (const line of lines) interpreter.line(line);
  return { interpreter, report: () => builder.finish({ name: 'strace', version: '1' }, { code: 0 }) };
}

const hex = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '\\x$&');
const START = `20 1.001 execve("${hex('/calls')}", ["${hex('calls')}"], 0x1 /* 1 var */) = 0`;
const READ = `openat(AT_FDCWD<${hex('/w')}>, "${hex('secret')}", O_RDONLY) = 3<${hex('/w/secret')}>`;

it('a thread that calls exec before its creator is reported continues under the creator’s pid', () => {
  const { interpreter, report } = interpret([
    START,
    '20 1.002 clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD <unfinished ...>',
    `21 1.003 execve("${hex('/bin/cat')}", ["${hex('cat')}", "${hex('secret')}"], 0x1 /* 1 var */ <unfinished ...>`,
    '20 1.004 <... clone resumed> <unfinished ...>) = ?',
    '20 1.005 +++ superseded by execve in pid 21 +++',
    '20 1.006 <... execve resumed>) = 0',
    `20 1.007 ${READ}`,
    '20 1.008 +++ exited with 0 +++',
  ]);
  interpreter.adoptOrphans();
  expect(interpreter.alive).toEqual([]);
  const { processes, accesses } = report();
  expect(processes.map(({ pid, argv }) => [pid, ...argv])).toEqual([
    [20, 'calls'],
    [20, 'cat', 'secret'],
  ]);
  const read = accesses.find((access) => 'path' in access && access.path.toString() === '/w/secret');
  expect(read?.process).toBe(1);
});

it('a child whose parent was killed before reporting it counts as still running', () => {
  const { interpreter, report } = interpret([
    START,
    '20 1.002 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>',
    `21 1.003 ${READ}`,
    '20 1.004 <... clone resumed> <unfinished ...>) = ?',
    '20 1.005 +++ killed by SIGKILL +++',
  ]);
  expect(interpreter.commandIsAlive).toBe(false);
  interpreter.adoptOrphans();
  expect(interpreter.alive).toEqual([21]);
  expect(report().accesses.map((access) => access.process)).toContain(1);
});
