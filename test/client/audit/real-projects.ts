// Small projects of the kinds that people build every day, each with its command and a sensible declaration:
// the sources, the configuration, the outputs. No tool is told to be quiet, and no cache of a tool is
// switched off.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Workshop } from '../../rig/assay.ts';

const PROJECT = join(import.meta.dirname, '..', '..', '..');
const NPM_FOLDERS = [
  join(PROJECT, 'test', 'clients', 'tools', 'node_modules'),
  join(PROJECT, 'node_modules'),
];

/** The project's Node and Debian's tools, without version managers. */
export const DEBIAN_PATH = `${dirname(process.execPath)}:/usr/bin:/bin:/usr/sbin:/sbin`;

export interface RealProject {
  readonly files: Readonly<Record<string, string>>;
  /** The npm packages with programs that the command uses, each from the first of NPM_FOLDERS that has it with its programs. */
  readonly packages?: readonly string[];
  /** The fields of the step in assay.json. */
  readonly step: {
    readonly command: string | readonly string[];
    readonly inputs: readonly string[];
    readonly outputs?: readonly string[];
    readonly tools?: readonly string[];
    readonly state?: readonly string[];
    readonly env?: readonly string[];
  };
}

const GITIGNORE =
  'node_modules\n__pycache__\n.pytest_cache\n.eslintcache\n*.tsbuildinfo\ndist\nbuild\ntarget\n';

const C_MAIN = '#include <stdio.h>\n#include "greet.h"\nint main(void) { puts(greet()); return 0; }\n';
const C_GREET = '#include "greet.h"\nconst char *greet(void) { return "hello"; }\n';
const C_HEADER = 'const char *greet(void);\n';

const CONFIGURE = [
  '#!/bin/sh',
  'set -e',
  'test -n "$CC" || CC=cc',
  "printf 'int main(void){return 0;}\\n' > conftest.c",
  '$CC -o conftest conftest.c || { echo "no compiler" >&2; exit 1; }',
  'have_zlib=0',
  "if printf '#include <zlib.h>\\nint main(void){return 0;}\\n' > conftest.c && $CC -c conftest.c 2>/dev/null; then have_zlib=1; fi",
  'rm -f conftest conftest.c conftest.o',
  'mkdir -p build',
  'echo "#define HAVE_ZLIB $have_zlib" > build/config.h',
  'sed "s|@CC@|$CC|g" Makefile.in > build/Makefile',
  '',
].join('\n');

export const REAL_PROJECTS: Readonly<Record<string, RealProject>> = {
  pytest: {
    files: {
      '.gitignore': GITIGNORE,
      'pyproject.toml': '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["src"]\n',
      'src/calc/__init__.py': 'from .add import add\n',
      'src/calc/add.py': 'def add(a, b):\n    return a + b\n',
      'tests/test_add.py': 'from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n',
      'tests/test_more.py':
        'import json\n\ndef test_more(tmp_path):\n    (tmp_path / "x").write_text(json.dumps([1]))\n',
    },
    step: { command: ['pytest'], inputs: ['src/**', 'tests/**', 'pyproject.toml'] },
  },
  tsc: {
    files: {
      '.gitignore': GITIGNORE,
      'package.json': '{ "name": "app", "type": "module" }\n',
      'tsconfig.json': '{ "compilerOptions": { "outDir": "dist", "rootDir": "src" }, "include": ["src"] }\n',
      'src/main.ts': 'import { shout } from "./shout.js";\nconsole.log(shout("a"));\n',
      'src/shout.ts': 'export const shout = (text: string) => text.toUpperCase();\n',
    },
    packages: ['typescript'],
    step: {
      command: ['node_modules/.bin/tsc', '-p', '.'],
      inputs: ['src/**', 'package.json', 'tsconfig.json'],
      outputs: ['dist'],
    },
  },
  vitest: {
    files: {
      '.gitignore': GITIGNORE,
      'package.json': '{ "name": "app", "type": "module" }\n',
      'src/shout.ts': 'export const shout = (text: string) => text.toUpperCase();\n',
      'src/shout.test.ts':
        'import { expect, test } from "vitest";\nimport { shout } from "./shout.ts";\ntest("shouts", () => expect(shout("a")).toBe("A"));\n',
    },
    packages: ['vitest'],
    step: { command: ['node_modules/.bin/vitest', 'run'], inputs: ['src/**', 'package.json'] },
  },
  eslint: {
    files: {
      '.gitignore': GITIGNORE,
      'package.json': '{ "name": "app", "type": "module" }\n',
      'eslint.config.js': 'export default [{ files: ["src/**/*.js"], rules: { "no-var": "error" } }];\n',
      'src/a.js': 'export const a = 1;\n',
      'src/b.js': 'import { a } from "./a.js";\nexport const b = a;\n',
    },
    packages: ['eslint'],
    step: {
      command: ['node_modules/.bin/eslint', '--cache', 'src'],
      inputs: ['src/**', 'package.json', 'eslint.config.js'],
    },
  },
  'go build': {
    files: {
      'go.mod': 'module example.com/app\n\ngo 1.19\n',
      'main.go': 'package main\n\nimport "example.com/app/greet"\n\nfunc main() { println(greet.Hello()) }\n',
      'greet/greet.go': 'package greet\n\nfunc Hello() string { return "hello" }\n',
    },
    step: { command: ['go', 'build', '-o', 'app', '.'], inputs: ['**/*.go', 'go.mod'], outputs: ['app'] },
  },
  'go test': {
    files: {
      'go.mod': 'module example.com/app\n\ngo 1.19\n',
      'greet/greet.go': 'package greet\n\nfunc Hello() string { return "hello" }\n',
      'greet/greet_test.go':
        'package greet\n\nimport "testing"\n\nfunc TestHello(t *testing.T) {\n\tif Hello() != "hello" {\n\t\tt.Fail()\n\t}\n}\n',
    },
    step: { command: ['go', 'test', './...'], inputs: ['**/*.go', 'go.mod'] },
  },
  'cargo build': {
    files: {
      '.gitignore': GITIGNORE,
      'Cargo.toml': '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
      'Cargo.lock':
        '# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 3\n\n[[package]]\nname = "app"\nversion = "0.1.0"\n',
      'src/main.rs': 'mod greet;\nfn main() { println!("{}", greet::hello()); }\n',
      'src/greet.rs': 'pub fn hello() -> &\'static str { "hello" }\n',
    },
    step: {
      command: ['cargo', 'build', '--offline'],
      inputs: ['src/**', 'Cargo.toml', 'Cargo.lock'],
      outputs: ['target'],
    },
  },
  'cmake and ninja': {
    files: {
      'CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.10)\nproject(app C)\nadd_executable(app src/main.c src/greet.c)\n',
      'src/main.c': C_MAIN,
      'src/greet.c': C_GREET,
      'src/greet.h': C_HEADER,
    },
    step: {
      command: 'cmake -S . -B build -G Ninja && ninja -C build',
      inputs: ['CMakeLists.txt', 'src/**'],
      outputs: ['build'],
    },
  },
  'configure and make': {
    files: {
      configure: CONFIGURE,
      'Makefile.in': 'app: ../src/main.c ../src/greet.c\n\t@CC@ -I. -o $@ ../src/main.c ../src/greet.c\n',
      'src/main.c': C_MAIN,
      'src/greet.c': C_GREET,
      'src/greet.h': C_HEADER,
    },
    step: {
      command: './configure && make -C build',
      inputs: ['configure', 'Makefile.in', 'src/**'],
      outputs: ['build'],
    },
  },
  'javac and jar': {
    files: {
      'src/app/Main.java':
        'package app;\npublic class Main { public static void main(String[] a) { System.out.println(Greet.hello()); } }\n',
      'src/app/Greet.java': 'package app;\nclass Greet { static String hello() { return "hello"; } }\n',
    },
    step: {
      command: 'javac -d classes src/app/Main.java src/app/Greet.java && jar cf app.jar -C classes .',
      inputs: ['src/**'],
      outputs: ['classes', 'app.jar'],
    },
  },
  'a shell script': {
    files: {
      'build.sh':
        '#!/bin/sh\nset -e\nmkdir -p out\nfor file in src/*.txt; do sort "$file" | uniq > "out/$(basename "$file")"; done\nwc -l src/*.txt > out/lines\n',
      'src/a.txt': 'b\na\nb\n',
      'src/b.txt': 'c\n',
    },
    step: { command: ['./build.sh'], inputs: ['build.sh', 'src/**'], outputs: ['out'] },
  },
};

/** Writes the project with its assay.json, as a fresh clone after the installation of its packages. */
export function writeProject(shop: Workshop, { files, packages = [], step }: RealProject): void {
  for (const [path, text] of Object.entries(files))
    shop.write(path, text, text.startsWith('#!') ? 0o755 : 0o644);
  for (const name of packages) installPackage(shop.workspace, name);
  shop.write('assay.json', `${JSON.stringify({ steps: { build: step } }, undefined, 2)}\n`);
}

/** Copies a package and what it depends on, and links its programs, as npm does. */
function installPackage(workspace: string, name: string): void {
  const source = NPM_FOLDERS.find((folder) => hasPrograms(join(folder, name)));
  if (source === undefined) throw new Error(`${name} is not installed: run scripts/setup-test-tools.sh`);
  const target = join(workspace, 'node_modules');
  for (const one of closureOf(name, source))
    cpSync(join(source, one), join(target, one), { recursive: true });
  const { bin } = manifestOf(join(source, name));
  const programs = typeof bin === 'string' ? { [name]: bin } : bin;
  mkdirSync(join(target, '.bin'), { recursive: true });
  for (const [program, file] of Object.entries(programs ?? {}))
    symlinkSync(join('..', name, file), join(target, '.bin', program));
}

/** A tool may bring a package under another one's name: vite-plus has a `vitest` without programs. */
function hasPrograms(folder: string): boolean {
  return existsSync(folder) && manifestOf(folder).bin !== undefined;
}

interface Manifest {
  readonly bin?: string | Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** The package and all of its dependencies that are installed beside it. */
function closureOf(name: string, source: string, found = new Set<string>()): Set<string> {
  if (found.has(name) || !existsSync(join(source, name))) return found;
  found.add(name);
  for (const one of dependenciesOf(join(source, name))) closureOf(one, source, found);
  return found;
}

/** Also those of the packages that are installed inside it. */
function dependenciesOf(folder: string): string[] {
  const { dependencies, optionalDependencies, peerDependencies } = manifestOf(folder);
  const own = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  const inner = packagesIn(join(folder, 'node_modules'));
  return [...own, ...inner.flatMap(dependenciesOf)];
}

function packagesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    if (name.startsWith('@')) return readdirSync(join(folder, name)).map((one) => join(folder, name, one));
    return name.startsWith('.') ? [] : [join(folder, name)];
  });
}
