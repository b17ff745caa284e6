// Actions of compiled programs: the C compiler itself, and one program for each way of reaching a file.
import { type Case, sh } from './case.ts';

const MAIN = '#include "lib.h"\nint main(void) { return LIB; }\n';
const HELLO = '#include <stdio.h>\nint main(void) { puts("hi"); return 0; }\n';

/** `calls` is fixtures/calls.c, compiled and declared as a tool; SECRET is never declared. */
function readsBy(method: string, ...args: string[]): Case {
  return {
    name: `reads a file by ${method}`,
    files: { secret: 'x', 'sub/secret': 'x' },
    inputs: [],
    command: ['calls', method, ...args],
    finds: [`read ${args.length > 1 ? 'sub/secret' : 'secret'}`],
  };
}

export const C: readonly Case[] = [
  {
    name: 'includes an undeclared header',
    files: { 'main.c': MAIN, 'lib.h': '#define LIB 0\n' },
    inputs: ['main.c'],
    outputs: ['main.o'],
    command: sh('gcc -c main.c -o main.o'),
    finds: ['read lib.h'],
  },
  {
    name: 'would use a new header earlier in the search path',
    files: {
      'main.c': '#include <lib.h>\nint main(void) { return LIB; }\n',
      'b/lib.h': '#define LIB 0\n',
      'a/': '',
    },
    inputs: ['main.c', 'b/**'],
    outputs: ['main.o'],
    command: sh('gcc -c -Ia -Ib main.c -o main.o'),
    finds: ['absent a/lib.h'],
  },
  {
    name: 'writes a dependency file beside its output',
    files: { 'main.c': HELLO },
    inputs: ['main.c'],
    outputs: ['main.o'],
    command: sh('gcc -MD -c main.c -o main.o'),
    finds: ['write main.d'],
  },
  readsBy('fork', 'secret'),
  readsBy('vfork', 'secret'),
  readsBy('clone3', 'secret'),
  readsBy('spawn', 'secret'),
  readsBy('thread', 'secret'),
  readsBy('exec-from-thread', 'secret'),
  readsBy('daemon', 'secret'),
  readsBy('openat2', 'secret'),
  readsBy('mmap', 'secret'),
  readsBy('folder-handle', 'sub', 'secret'),
  readsBy('shared-folder', 'sub', 'secret'),
  readsBy('sibling', 'sub', 'secret'),
  {
    ...readsBy('path-handle', 'secret'),
    name: 'reads a file that it opened with O_PATH',
  },
  {
    name: 'uses io_uring',
    command: ['calls', 'io_uring'],
    finds: ['io_uring denied'],
  },
  {
    name: 'connects to a service over a unix socket',
    command: ['calls', 'connect-unix', '../service'],
    socket: '../service',
    finds: ['unix ../service'],
  },
  {
    name: 'connects to a service over an abstract socket',
    command: ['calls', 'abstract-socket', 'assay-corpus'],
    finds: ['unix @assay-corpus'],
  },
  {
    name: 'leaves a daemon behind',
    command: ['calls', 'survivor'],
    finds: ['survivor process * outlived the command and was killed'],
  },

  {
    name: 'changes the times of its input by a file descriptor',
    files: { in: 'x' },
    inputs: ['in'],
    command: ['calls', 'set-times', 'in'],
    finds: ['mutate in'],
  },

  // ---- hermetic ----
  {
    name: 'links with its own library, and runs with it',
    files: {
      'own.c': 'int own(void) { return 0; }\n',
      'main.c': 'int own(void);\nint main(void) { return own(); }\n',
    },
    inputs: ['own.c', 'main.c'],
    outputs: ['lib/libown.so', 'app'],
    command: sh(
      'mkdir lib; gcc -shared -fPIC own.c -o lib/libown.so && gcc main.c -o app -Llib -lown -Wl,-rpath,"$PWD/lib" && ./app',
    ),
    finds: [],
  },
  {
    name: 'optimises when it links',
    files: { 'hello.c': HELLO },
    inputs: ['hello.c'],
    outputs: ['hello'],
    command: sh('gcc -flto -O1 hello.c -o hello'),
    finds: [],
  },
  {
    name: 'compiles with its declared headers',
    files: { 'src/main.c': MAIN, 'src/lib.h': '#define LIB 0\n' },
    inputs: ['src/**'],
    outputs: ['main.o'],
    command: sh('gcc -c src/main.c -o main.o'),
    finds: [],
  },
  {
    name: 'compiles, links and runs a program',
    files: { 'hello.c': HELLO },
    inputs: ['hello.c'],
    outputs: ['hello', 'said'],
    command: sh('gcc -O1 hello.c -o hello && ./hello >said'),
    finds: [],
  },
  {
    name: 'makes a static library',
    files: { 'a.c': 'int a;\n', 'b.c': 'int b;\n' },
    inputs: ['*.c'],
    outputs: ['lib.a'],
    command: sh('gcc -c a.c -o a.o && gcc -c b.c -o b.o && ar rcsD lib.a a.o b.o && rm a.o b.o'),
    finds: [],
  },
  {
    name: 'connects to itself over a unix socket',
    command: ['calls', 'talk-to-itself', 'own'],
    finds: [],
  },
  {
    name: 'includes system headers, after searching its own folder',
    files: {
      'main.c': '#include <stdio.h>\n#include <u.h>\nint main(void) { return U; }\n',
      'inc/u.h': '#define U 0\n',
    },
    inputs: ['main.c', 'inc/u.h'],
    outputs: ['main.o'],
    command: sh('gcc -c -Iinc main.c -o main.o'),
    finds: [],
  },
];
