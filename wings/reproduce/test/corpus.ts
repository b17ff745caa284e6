// Small actions whose result depends on something outside the key, at least two for each kind, and some whose
// result depends on their inputs only.
import { NODE, python, sh } from '../../../test/hermeticity/verdict/corpus/case.ts';

export interface ReproduceCase {
  readonly name: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly command: readonly [string, ...string[]];
  /** Undeclared variables of the caller. */
  readonly undeclared?: Readonly<Record<string, string>>;
  /** Exactly the kinds that must be found. */
  readonly kinds: readonly string[];
}

const INPUT = { 'in.txt': 'in\n' };
const FOLDER = { 'd/c': 'c\n', 'd/a': 'a\n', 'd/b': 'b\n', 'd/e': 'e\n' };
const PLAIN_C = { 'a.c': 'int main(void) { return 0; }\n' };
const STRAY_C = 'int printf(const char *, ...);\n';

const node = (script: string): [string, ...string[]] => [NODE, '-e', script];
const make = (recipe: string) => ({
  files: { Makefile: `out:\n\t${recipe}\n`, ...INPUT },
  command: ['make', '-s', 'out'] as [string, ...string[]],
});
/** Compiles a program that makes the result. */
const runC = (source: string): Pick<ReproduceCase, 'files' | 'command'> => ({
  files: { 'tool.c': source },
  command: sh('gcc -o "$TMPDIR/tool" tool.c && "$TMPDIR/tool" > out'),
});

export const DEPENDENT: readonly ReproduceCase[] = [
  { name: 'ulimit -n', command: sh('ulimit -n > out'), kinds: ['limits'] },
  { name: 'ulimit -c', command: sh('ulimit -c > out'), kinds: ['limits'] },
  { name: 'nice', command: sh('nice > out'), kinds: ['limits'] },
  {
    name: 'the scheduling class',
    command: sh('chrt -p $$ | head -1 | cut -d: -f2 > out'),
    kinds: ['limits'],
  },
  { name: 'hostname -I', command: sh('hostname -I > out'), kinds: ['host'] },
  {
    name: 'the addresses in Node',
    command: node('fs.writeFileSync("out", JSON.stringify(os.networkInterfaces()))'),
    kinds: ['host'],
  },
  {
    name: 'the domain name',
    command: sh('domainname > out 2> /dev/null || hostname -y > out'),
    kinds: ['host'],
  },
  { name: 'id -G', command: sh('id -G > out'), kinds: ['uid'] },
  { name: 'date', command: sh('date > out'), kinds: ['time'] },
  { name: 'the year alone', command: sh('date +%Y > out'), kinds: ['time'] },
  { name: 'the nanoseconds alone', command: sh('date +%N > out'), kinds: ['time'] },
  { name: 'the milliseconds alone', command: sh('date +%3N > out'), kinds: ['time'] },
  {
    name: 'Date.now() without its seconds',
    command: node('fs.writeFileSync("out", String(Date.now() % 1000))'),
    kinds: ['time'],
  },
  {
    name: 'the last three digits of time.time_ns()',
    command: python('import time; open("out", "w").write(str(time.time_ns() % 1000))'),
    kinds: ['time'],
  },
  {
    name: 'the microseconds of gettimeofday() alone',
    ...runC(
      '#include <stdio.h>\n#include <sys/time.h>\nint main(void) { struct timeval t; gettimeofday(&t, 0); printf("%ld", (long)t.tv_usec % 1000); }',
    ),
    kinds: ['time'],
  },
  {
    name: 'the nanoseconds of a file that it has just made',
    command: python(
      'import os; open("t", "w").close(); n = os.stat("t").st_mtime_ns; os.remove("t"); open("out", "w").write(str(n % 1000))',
    ),
    kinds: ['time'],
  },
  {
    name: '__DATE__ and __TIME__',
    files: { 'a.c': `${STRAY_C}int main(void) { printf(__DATE__ __TIME__); }\n` },
    command: ['gcc', '-c', 'a.c', '-o', 'out'],
    kinds: ['time'],
  },
  {
    name: 'time() in C',
    ...runC('#include <stdio.h>\n#include <time.h>\nint main(void) { printf("%ld", (long)time(0)); }'),
    kinds: ['time'],
  },
  { name: 'Date.now()', command: node('fs.writeFileSync("out", String(Date.now()))'), kinds: ['time'] },
  {
    name: 'a duration',
    command: node('fs.writeFileSync("out", String(process.hrtime.bigint()))'),
    kinds: ['time'],
  },
  {
    name: 'a duration, however often it was asked for before',
    command: node(
      'for (const _ of process.cwd()) process.hrtime(); fs.writeFileSync("out", String(process.hrtime.bigint()))',
    ),
    kinds: ['time'],
  },
  {
    name: 'the time of a file that it has just made',
    command: sh('touch t && stat -c %y t > out && rm t'),
    kinds: ['time'],
  },
  {
    name: 'datetime',
    command: python('import datetime; open("out", "w").write(str(datetime.datetime.now()))'),
    kinds: ['time'],
  },
  { name: 'a date in a Makefile', ...make('date > out'), kinds: ['time'] },

  { name: '/dev/urandom', command: sh('head -c 8 /dev/urandom | od > out'), kinds: ['random'] },
  { name: 'the kernel’s uuid', command: sh('cat /proc/sys/kernel/random/uuid > out'), kinds: ['random'] },
  { name: '$RANDOM', command: ['bash', '-c', 'echo $RANDOM > out'], kinds: ['random'] },
  {
    name: 'a temporary name',
    command: sh('cd "$TMPDIR" && mktemp -u tmp.XXXXXXXXXX > "$OLDPWD/out"'),
    kinds: ['random'],
  },
  {
    name: 'the order of a set of strings',
    command: python('open("out", "w").write(str(set("abcdefgh")))'),
    kinds: ['random'],
  },
  {
    name: 'random.random()',
    command: python('import random; open("out", "w").write(str(random.random()))'),
    kinds: ['random'],
  },
  {
    name: 'the address of an object',
    command: python('open("out", "w").write(repr(object()))'),
    kinds: ['random'],
  },
  {
    name: 'Math.random()',
    command: node('fs.writeFileSync("out", String(Math.random()))'),
    kinds: ['random'],
  },
  {
    name: 'crypto.randomUUID()',
    command: node('fs.writeFileSync("out", crypto.randomUUID())'),
    kinds: ['random'],
  },

  { name: '$$', command: sh('echo $$ > out'), kinds: ['pid'] },
  {
    name: 'os.getpid()',
    command: python('import os; open("out", "w").write(str(os.getpid()))'),
    kinds: ['pid'],
  },
  {
    name: 'getpid() in C',
    ...runC('#include <stdio.h>\n#include <unistd.h>\nint main(void) { printf("%d", getpid()); }'),
    kinds: ['pid'],
  },
  { name: 'a file named by the process', command: sh('echo x > made.$$'), kinds: ['pid'] },

  { name: 'hostname', command: sh('hostname > out'), kinds: ['host'] },
  { name: 'uname -n in a Makefile', ...make('uname -n > out'), kinds: ['host'] },
  { name: 'os.hostname()', command: node('fs.writeFileSync("out", os.hostname())'), kinds: ['host'] },
  {
    name: 'socket.gethostname()',
    command: python('import socket; open("out", "w").write(socket.gethostname())'),
    kinds: ['host'],
  },

  { name: 'nproc', command: sh('nproc > out'), kinds: ['cpu'] },
  { name: 'getconf', command: sh('getconf _NPROCESSORS_ONLN > out'), kinds: ['cpu'] },
  {
    name: 'os.cpu_count()',
    command: python('import os; open("out", "w").write(str(os.cpu_count()))'),
    kinds: ['cpu'],
  },
  { name: 'os.cpus()', command: node('fs.writeFileSync("out", String(os.cpus().length))'), kinds: ['cpu'] },

  { name: 'id -u', command: sh('id -u > out'), kinds: ['uid'] },
  { name: 'the owner of an input', files: INPUT, command: sh('stat -c %u in.txt > out'), kinds: ['uid'] },
  {
    name: 'os.getuid()',
    command: python('import os; open("out", "w").write(str(os.getuid()))'),
    kinds: ['uid'],
  },

  { name: 'umask', command: sh('umask > out'), kinds: ['umask'] },
  {
    name: 'the mode of a file that it makes',
    command: sh('touch t && stat -c %a t > out && rm t'),
    kinds: ['umask'],
  },
  {
    name: 'the mode of an input',
    files: INPUT,
    command: python('import os; open("out", "w").write(oct(os.stat("in.txt").st_mode))'),
    kinds: ['umask'],
  },

  { name: 'pwd', command: sh('pwd > out'), kinds: ['cwd'] },
  {
    name: 'debug information',
    files: PLAIN_C,
    command: ['gcc', '-g', '-c', 'a.c', '-o', 'out'],
    kinds: ['cwd'],
  },
  {
    name: '__FILE__ by a full path',
    files: { 'a.c': 'const char *file = __FILE__;\n' },
    command: sh('gcc -c "$PWD/a.c" -o out'),
    kinds: ['cwd'],
  },
  { name: 'process.cwd()', command: node('fs.writeFileSync("out", process.cwd())'), kinds: ['cwd'] },

  { name: 'the time of an input', files: INPUT, command: sh('stat -c %Y in.txt > out'), kinds: ['mtime'] },
  { name: 'a gzip header', files: INPUT, command: sh('gzip -c in.txt > out'), kinds: ['mtime'] },
  {
    name: 'a zip archive',
    files: INPUT,
    command: python('import zipfile; z = zipfile.ZipFile("out", "w"); z.write("in.txt"); z.close()'),
    kinds: ['mtime', 'umask'],
  },
  { name: 'which of two inputs is newer', files: FOLDER, command: sh('ls -t d > out'), kinds: ['mtime'] },
  {
    name: 'whether an input is newer than one that comes after it by name',
    files: { a: '', b: '' },
    command: sh('if [ a -nt b ]; then echo newer; fi > out'),
    kinds: ['mtime'],
  },

  { name: 'ls -U', files: FOLDER, command: sh('ls -U d > out'), kinds: ['readdir-order'] },
  { name: 'find', files: FOLDER, command: sh('find d -type f > out'), kinds: ['readdir-order'] },
  {
    name: 'os.listdir()',
    files: FOLDER,
    command: python('import os; open("out", "w").write(str(os.listdir("d")))'),
    kinds: ['readdir-order'],
  },
  {
    name: 'cat of find',
    files: FOLDER,
    command: sh('find d -type f -exec cat {} + > out'),
    kinds: ['readdir-order'],
  },
  {
    name: 'a tar archive',
    files: FOLDER,
    command: sh('tar cf out --owner=0 --group=0 --mode=644 d'),
    kinds: ['mtime', 'readdir-order'],
  },

  {
    name: 'a variable',
    command: sh('echo "$FLAVOUR" > out'),
    undeclared: { FLAVOUR: 'plum', OTHER: '1' },
    kinds: ['env'],
  },
  { name: '$HOME', command: sh('echo "$HOME" > out'), kinds: ['env'] },
  {
    name: 'all variables',
    command: python('import os; open("out", "w").write(str(sorted(os.environ)))'),
    kinds: ['env'],
  },
  {
    name: 'a variable in a Makefile',
    ...make('echo $(FLAVOUR) > out'),
    undeclared: { FLAVOUR: 'plum' },
    kinds: ['env'],
  },

  { name: 'time and process id side by side', command: sh('echo $$ $(date) > out'), kinds: ['pid', 'time'] },
  { name: 'the host name, in its printed output', command: sh('hostname'), kinds: ['host'] },
  {
    name: 'the host name, in its exit code',
    command: sh('test "$(hostname)" != varied-host'),
    kinds: ['host'],
  },
];

export const INDEPENDENT: readonly ReproduceCase[] = [
  { name: 'a copy', files: INPUT, command: sh('cat in.txt > out'), kinds: [] },
  { name: 'sorted names', files: FOLDER, command: sh('ls d > out; find d | sort >> out'), kinds: [] },
  { name: 'an object file', files: PLAIN_C, command: ['gcc', '-O2', '-c', 'a.c', '-o', 'out'], kinds: [] },
  { name: 'a linked program', files: PLAIN_C, command: ['gcc', 'a.c', '-o', 'out'], kinds: [] },
  {
    name: 'debug information with mapped paths',
    files: PLAIN_C,
    command: sh('gcc -g -ffile-prefix-map="$PWD"=. -c a.c -o out'),
    kinds: [],
  },
  {
    name: 'an archive with everything fixed',
    files: FOLDER,
    command: sh('tar cf out --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 d'),
    kinds: [],
  },
  { name: 'gzip -n', files: INPUT, command: sh('gzip -nc in.txt > out'), kinds: [] },
  {
    name: 'a seeded number',
    command: python('import random; open("out", "w").write(str(random.Random(1).random()))'),
    kinds: [],
  },
  {
    name: 'a hash',
    files: INPUT,
    command: node('fs.writeFileSync("out", crypto.hash("sha256", fs.readFileSync("in.txt")))'),
    kinds: [],
  },
  {
    name: 'temporary files',
    files: INPUT,
    command: sh('t=$(mktemp) && cat in.txt > "$t" && sort "$t" > out'),
    kinds: [],
  },
  { name: 'a build by make', ...make('cat in.txt > out'), kinds: [] },
  {
    name: 'a time that is printed and not stored',
    files: INPUT,
    command: sh('cp in.txt out; date'),
    kinds: [],
  },
  {
    name: 'a short sleep',
    files: INPUT,
    command: node('setTimeout(() => fs.copyFileSync("in.txt", "out"), 50)'),
    kinds: [],
  },
  {
    name: 'waiting for a time of day',
    files: INPUT,
    command: python('import threading; threading.Event().wait(0.05); open("out", "w").write("x")'),
    kinds: [],
  },
  { name: 'nothing at all', command: ['true'], kinds: [] },
];
