// Commands as people run them, each with a small project and a sensible declaration.

export interface Row {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** The clone has the packages of tools/package.json installed. */
  readonly hasNodeModules?: true;
  /** Flags of `assay run`. */
  readonly declared: readonly string[];
  readonly command: readonly string[];
  readonly outputs: readonly string[];
  /** An edit that makes another action, as file and content. */
  readonly edit: readonly [string, string];
  /** An output holds the workspace's path, so another folder is a miss. */
  readonly holdsPath?: true;
  /** It lists folders in which its own cache lies: a result from a used clone stays there (docs/HERMETICITY.md). */
  readonly showsCache?: true;
  /** Variables for the run by hand. */
  readonly byHand?: Readonly<Record<string, string>>;
}

const TYPESCRIPT = {
  'src/main.ts': 'import { twice } from "./twice.js";\nexport const four: number = twice(2);\n',
  'src/twice.ts': 'export function twice(n: number): number {\n  return n * 2;\n}\n',
  'tsconfig.json':
    '{ "compilerOptions": { "outDir": "dist", "rootDir": "src", "strict": true, "module": "nodenext", "target": "es2022", "types": [] }, "include": ["src"] }',
  'package.json': '{ "name": "row", "type": "module", "private": true }',
};

const GO = {
  'go.mod': 'module example.test/row\n\ngo 1.19\n',
  'main.go':
    'package main\n\nimport (\n\t"fmt"\n\n\t"example.test/row/sums"\n)\n\nfunc main() { fmt.Println(sums.Add(1, 2)) }\n',
  'sums/sums.go': 'package sums\n\nfunc Add(a, b int) int { return a + b }\n',
  'sums/sums_test.go':
    'package sums\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n',
};

const inputs = (...patterns: string[]) => patterns.flatMap((one) => ['--input', one]);
const outputs = (...paths: string[]) => paths.flatMap((one) => ['--output', one]);

export const ROWS: readonly Row[] = [
  {
    name: 'a shell script',
    files: {
      'build.sh':
        '#!/bin/sh\nset -e\nmkdir -p dist\nsort src/words | uniq -c > dist/words\nwc -l src/words\n',
      'src/words': 'b\na\nb\n',
    },
    declared: [...inputs('build.sh', 'src/**'), ...outputs('dist')],
    command: ['./build.sh'],
    outputs: ['dist/words'],
    edit: ['src/words', 'c\n'],
  },
  {
    name: 'pytest',
    showsCache: true,
    files: {
      'app/__init__.py': '',
      'app/sums.py': 'def add(a, b):\n    return a + b\n',
      'tests/test_sums.py': 'from app.sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n',
      'pyproject.toml': '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["."]\n',
    },
    declared: inputs('app/**/*.py', 'tests/**/*.py', 'pyproject.toml'),
    command: ['/usr/bin/python3', '-m', 'pytest', '-q'],
    outputs: [],
    edit: ['app/sums.py', 'def add(a, b):\n    return b + a\n'],
  },
  {
    name: 'tsc',
    files: TYPESCRIPT,
    hasNodeModules: true,
    declared: [...inputs('src/**', 'tsconfig.json', 'package.json'), ...outputs('dist'), '--tool', 'node'],
    command: ['node_modules/.bin/tsc', '-p', '.'],
    outputs: ['dist/main.js'],
    edit: ['src/twice.ts', 'export function twice(n: number): number {\n  return n + n;\n}\n'],
  },
  {
    name: 'tsc -b',
    files: {
      ...TYPESCRIPT,
      'tsconfig.json': TYPESCRIPT['tsconfig.json'].replace('"strict"', '"composite": true, "strict"'),
    },
    hasNodeModules: true,
    declared: [...inputs('src/**', 'tsconfig.json', 'package.json'), ...outputs('dist'), '--tool', 'node'],
    command: ['node_modules/.bin/tsc', '-b'],
    outputs: ['dist/main.js'],
    edit: ['src/twice.ts', 'export function twice(n: number): number {\n  return n + n;\n}\n'],
  },
  {
    name: 'vitest',
    files: {
      'src/sums.js': 'export const add = (a, b) => a + b;\n',
      'test/sums.test.js':
        'import { expect, test } from "vitest";\nimport { add } from "../src/sums.js";\ntest("add", () => expect(add(1, 2)).toBe(3));\n',
      'package.json': '{ "name": "row", "type": "module", "private": true }',
    },
    hasNodeModules: true,
    declared: [...inputs('src/**', 'test/**', 'package.json'), '--tool', 'node'],
    command: ['node_modules/.bin/vitest', 'run'],
    outputs: [],
    edit: ['src/sums.js', 'export const add = (a, b) => b + a;\n'],
  },
  {
    name: 'jest',
    files: {
      'src/sums.js': 'exports.add = (a, b) => a + b;\n',
      'test/sums.test.js':
        'const { add } = require("../src/sums.js");\ntest("add", () => expect(add(1, 2)).toBe(3));\n',
      'package.json': '{ "name": "row", "private": true }',
    },
    hasNodeModules: true,
    declared: [...inputs('src/**', 'test/**', 'package.json'), '--tool', 'node'],
    command: ['node_modules/.bin/jest'],
    outputs: [],
    edit: ['src/sums.js', 'exports.add = (a, b) => b + a;\n'],
  },
  {
    name: 'eslint --cache',
    files: {
      'src/sums.js': 'export const add = (a, b) => a + b;\n',
      'eslint.config.js': 'export default [{ rules: { "no-unused-vars": "error" } }];\n',
      'package.json': '{ "name": "row", "type": "module", "private": true }',
    },
    hasNodeModules: true,
    declared: [...inputs('src/**', 'eslint.config.js', 'package.json'), '--tool', 'node'],
    command: ['node_modules/.bin/eslint', '--cache', 'src'],
    outputs: [],
    edit: ['src/sums.js', 'export const add = (a, b) => b + a;\n'],
  },
  {
    name: 'vite build',
    files: {
      'index.html': '<!doctype html><script type="module" src="/src/main.js"></script>\n',
      'src/main.js': 'document.title = "one";\n',
      'package.json': '{ "name": "row", "type": "module", "private": true }',
    },
    hasNodeModules: true,
    declared: [...inputs('index.html', 'src/**', 'package.json'), ...outputs('dist'), '--tool', 'node'],
    command: ['node_modules/.bin/vite', 'build', '--logLevel', 'warn'],
    outputs: ['dist/index.html'],
    edit: ['src/main.js', 'document.title = "two";\n'],
  },
  {
    name: 'webpack',
    files: {
      'src/index.js': 'import { word } from "./word.js";\ndocument.title = word;\n',
      'src/word.js': 'export const word = "one";\n',
      'webpack.config.js': 'export default { mode: "production", cache: { type: "filesystem" } };\n',
      'package.json': '{ "name": "row", "type": "module", "private": true }',
    },
    hasNodeModules: true,
    declared: [
      ...inputs('src/**', 'webpack.config.js', 'package.json'),
      ...outputs('dist'),
      '--tool',
      'node',
    ],
    command: ['node_modules/.bin/webpack'],
    outputs: ['dist/main.js'],
    edit: ['src/word.js', 'export const word = "two";\n'],
  },
  {
    name: 'go build',
    files: GO,
    declared: [...inputs('go.mod', '**/*.go'), ...outputs('app'), '--tool', 'go'],
    command: ['go', 'build', '-trimpath', '-o', 'app', '.'],
    outputs: ['app'],
    edit: ['sums/sums.go', 'package sums\n\nfunc Add(a, b int) int { return b + a }\n'],
  },
  {
    name: 'go test',
    files: GO,
    declared: [...inputs('go.mod', '**/*.go'), '--tool', 'go'],
    command: ['go', 'test', '-trimpath', './...'],
    outputs: [],
    edit: ['sums/sums.go', 'package sums\n\nfunc Add(a, b int) int { return b + a }\n'],
  },
  {
    name: 'cargo build',
    files: {
      'Cargo.toml': '[package]\nname = "row"\nversion = "0.1.0"\nedition = "2021"\n',
      'Cargo.lock': 'version = 3\n\n[[package]]\nname = "row"\nversion = "0.1.0"\n',
      'src/main.rs': 'fn main() {\n    println!("{}", 1 + 2);\n}\n',
    },
    declared: [
      ...inputs('Cargo.toml', 'Cargo.lock', 'src/**'),
      ...outputs('target/release/row'),
      '--tool',
      '/usr/bin/cargo',
    ],
    command: ['/usr/bin/cargo', 'build', '--release', '--offline', '--locked', '--quiet'],
    outputs: ['target/release/row'],
    edit: ['src/main.rs', 'fn main() {\n    println!("{}", 2 + 1);\n}\n'],
    byHand: { RUSTC: '/usr/bin/rustc' },
  },
  {
    name: 'mypy',
    files: {
      'app/sums.py': 'def add(a: int, b: int) -> int:\n    return a + b\n',
      'mypy.ini': '[mypy]\nstrict = True\n',
    },
    declared: inputs('app/**/*.py', 'mypy.ini'),
    command: ['/usr/bin/python3', '-m', 'mypy', 'app'],
    outputs: [],
    edit: ['app/sums.py', 'def add(a: int, b: int) -> int:\n    return b + a\n'],
  },
  {
    name: 'sphinx',
    files: { 'book/conf.py': 'project = "row"\nextensions = []\n', 'book/index.rst': 'Row\n===\n\nOne.\n' },
    declared: [...inputs('book/**'), ...outputs('site')],
    command: ['/usr/bin/python3', '-m', 'sphinx', '-q', '-E', 'book', 'site'],
    outputs: ['site/index.html'],
    edit: ['book/index.rst', 'Row\n===\n\nTwo.\n'],
    /* In .doctrees/environment.pickle. */
    holdsPath: true,
  },
  {
    name: 'protoc',
    files: { 'api/row.proto': 'syntax = "proto3";\nmessage Row { string name = 1; }\n' },
    declared: [...inputs('api/**'), ...outputs('gen')],
    command: ['sh', '-c', 'mkdir -p gen && protoc -I api --cpp_out=gen api/row.proto'],
    outputs: ['gen/row.pb.h'],
    edit: ['api/row.proto', 'syntax = "proto3";\nmessage Row { string title = 1; }\n'],
  },
  {
    name: 'gradle --no-daemon',
    files: {
      'build.gradle': 'apply plugin: "java"\n',
      'settings.gradle': 'rootProject.name = "row"\n',
      'src/main/java/Main.java':
        'public class Main {\n  public static void main(String[] args) { System.out.println(1); }\n}\n',
    },
    declared: [
      ...inputs('build.gradle', 'settings.gradle', 'src/**'),
      ...outputs('build'),
      '--tool',
      'gradle',
    ],
    command: [
      'sh',
      '-c',
      'gradle --no-daemon --offline -q -g "$TMPDIR/home" --project-cache-dir "$TMPDIR/project" classes',
    ],
    outputs: ['build/classes/java/main/Main.class'],
    edit: [
      'src/main/java/Main.java',
      'public class Main {\n  public static void main(String[] args) { System.out.println(2); }\n}\n',
    ],
  },
  {
    name: 'configure and make',
    files: {
      configure: '#!/bin/sh\nset -e\ncc --version > /dev/null\nprintf "CC = cc\\n" > config.mk\n',
      Makefile:
        'include config.mk\napp: main.o sums.o\n\t$(CC) -o $@ $^\n%.o: %.c sums.h\n\t$(CC) -O1 -c $<\n',
      'main.c':
        '#include <stdio.h>\n#include "sums.h"\nint main(void) { printf("%d\\n", add(1, 2)); return 0; }\n',
      'sums.c': '#include "sums.h"\nint add(int a, int b) { return a + b; }\n',
      'sums.h': 'int add(int a, int b);\n',
    },
    declared: [
      ...inputs('configure', 'Makefile', '*.c', '*.h'),
      ...outputs('app', 'main.o', 'sums.o', 'config.mk'),
      '--tool',
      'cc',
      '--tool',
      'make',
    ],
    command: ['sh', '-c', './configure && make -s'],
    outputs: ['app'],
    edit: ['sums.c', '#include "sums.h"\nint add(int a, int b) { return b + a; }\n'],
  },
  {
    name: 'gcc -g, whose object names the folder',
    files: { 'main.c': 'int main(void) { return 0; }\n' },
    declared: [...inputs('main.c'), ...outputs('main.o')],
    command: ['gcc', '-g', '-c', 'main.c', '-o', 'main.o'],
    outputs: ['main.o'],
    edit: ['main.c', 'int main(void) { return 1; }\n'],
    holdsPath: true,
  },
  {
    name: 'cmake and ninja',
    files: {
      'CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.18)\nproject(row C)\nadd_executable(app src/main.c)\n',
      'src/main.c': '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n',
    },
    declared: [
      ...inputs('CMakeLists.txt', 'src/**'),
      ...outputs('build'),
      '--tool',
      'cmake',
      '--tool',
      'ninja',
    ],
    command: ['sh', '-c', 'cmake -S . -B build -G Ninja > /dev/null && ninja -C build --quiet'],
    outputs: ['build/app'],
    edit: ['src/main.c', '#include <stdio.h>\nint main(void) { puts("hi"); return 0; }\n'],
    holdsPath: true,
  },
  {
    name: 'javac and jar',
    files: {
      'src/app/Main.java':
        'package app;\npublic class Main {\n  public static void main(String[] args) { System.out.println(Sums.add(1, 2)); }\n}\n',
      'src/app/Sums.java':
        'package app;\nclass Sums {\n  static int add(int a, int b) { return a + b; }\n}\n',
    },
    declared: [...inputs('src/**'), ...outputs('classes', 'app.jar'), '--tool', 'javac', '--tool', 'jar'],
    command: [
      'sh',
      '-c',
      'javac -d classes src/app/*.java && jar --create --date=2000-01-01T00:00:00Z --file app.jar -C classes .',
    ],
    outputs: ['app.jar'],
    edit: [
      'src/app/Sums.java',
      'package app;\nclass Sums {\n  static int add(int a, int b) { return b + a; }\n}\n',
    ],
  },
];
