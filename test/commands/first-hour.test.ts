// The first hour of a new user: `assay init` writes the steps in one clone, and they are hits in fresh clones, at the
// same path and at another one, on machines with empty stores. Nobody writes a line of configuration.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { runSteps } from '../rig/graph.ts';
import { ServerProcess } from '../rig/server.ts';

/** Installed by scripts/setup-test-tools.sh. */
const TOOLS = join(import.meta.dirname, 'tools/node_modules');

interface Project {
  readonly files: Readonly<Record<string, string>>;
  /** The packages of a workspace, which npm links into node_modules. */
  readonly packages?: readonly string[];
  readonly steps: readonly string[];
}

const TSCONFIG = (more = '') =>
  `{"compilerOptions":{"module":"nodenext","target":"es2022","rootDir":"src","outDir":"dist","declaration":true,"composite":true,"types":[]},"include":["src"]${more}}`;

const PROJECTS: Readonly<Record<string, Project>> = {
  'a TypeScript workspace': {
    packages: ['money', 'cart'],
    steps: ['money#build', 'cart#build', 'cart#test'],
    files: {
      '.gitignore': 'node_modules\ndist\n*.tsbuildinfo\n',
      'package.json': '{"private":true,"type":"module","workspaces":["packages/*"]}',
      'packages/money/package.json':
        '{"name":"money","version":"1.0.0","type":"module","exports":"./dist/index.js","scripts":{"build":"tsc -p ."}}',
      'packages/money/tsconfig.json': TSCONFIG(),
      'packages/money/src/index.ts': 'export const add = (a: number, b: number): number => a + b;\n',
      'packages/cart/package.json':
        '{"name":"cart","version":"1.0.0","type":"module","dependencies":{"money":"*"},"scripts":{"build":"tsc -p .","test":"vitest run"}}',
      'packages/cart/tsconfig.json': TSCONFIG(',"references":[{"path":"../money"}]'),
      'packages/cart/src/index.ts': 'import { add } from "money";\nexport const three: number = add(1, 2);\n',
      'packages/cart/test/cart.test.js':
        'import { expect, test } from "vitest";\nimport { three } from "../dist/index.js";\ntest("sum", () => expect(three).toBe(3));\n',
    },
  },
  'a Python project': {
    steps: ['test'],
    files: {
      '.gitignore': '__pycache__/\n',
      'pyproject.toml': '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
      'src/orders.py': 'def total(lines):\n    return sum(lines)\n',
      'tests/test_orders.py':
        'from orders import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n',
    },
  },
  'a C project': {
    steps: ['all', 'test'],
    files: {
      '.gitignore': 'build/\n',
      Makefile: [
        'CFLAGS = -O2 -Iinclude -MMD',
        'OBJS = build/list.o build/main.o',
        'all: build/tool',
        'build/%.o: src/%.c | build',
        '\t$(CC) $(CFLAGS) -c $< -o $@',
        'build:',
        '\tmkdir -p build',
        'build/tool: $(OBJS)',
        '\t$(CC) $^ -o $@',
        'test: build/tool',
        '\ttest "$$(build/tool)" = 6',
        '-include $(OBJS:.o=.d)',
        '.PHONY: all test',
        '',
      ].join('\n'),
      'include/list.h': 'int sum(int a, int b);\n',
      'src/list.c': '#include "list.h"\nint sum(int a, int b) { return a + b; }\n',
      'src/main.c':
        '#include <stdio.h>\n#include "list.h"\nint main(void) { printf("%d\\n", sum(2, 4)); return 0; }\n',
    },
  },
};

let shop: Workshop;
let server: ServerProcess;

beforeAll(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(join(shop.folder, 'served'));
});

afterAll(async () => {
  await server.stop();
  shop.remove();
});

/** The one installation is moved from clone to clone: copying it would take most of the time. */
let installed = join(import.meta.dirname, 'nowhere');

function install(folder: string, packages: readonly string[]): void {
  const to = join(folder, 'node_modules');
  if (existsSync(installed)) renameSync(installed, to);
  else execFileSync('cp', ['-al', TOOLS, to]);
  installed = to;
  for (const name of ['.cache', '.vite', '.vite-temp', '.vitest', '.vitest-cache'])
    rmSync(join(to, name), { recursive: true, force: true });
  for (const name of packages) {
    rmSync(join(to, name), { force: true });
    symlinkSync(`../packages/${name}`, join(to, name));
  }
}

test.each(Object.entries(PROJECTS))(
  '%s: init in a clone, then hits in fresh clones',
  async (name, { files, packages, steps }) => {
    const place = name.replaceAll(' ', '-');
    /** Files that init wrote, by path. */
    const written = new Map<string, string>();
    const clone = (path: string): string => {
      const folder = join(shop.folder, place, path);
      mkdirSync(folder, { recursive: true });
      for (const [file, text] of Object.entries(files)) shop.write(file, text, 0o644, folder);
      for (const [file, from] of written) copyFileSync(from, join(folder, file));
      if (packages) install(folder, packages);
      return folder;
    };

    const first = clone('first');
    const { code, stderr } = await shop.assay(['init'], { cwd: first });
    expect(code, stderr).toBe(0);
    for (const file of ['assay.json', ...(packages ?? []).map((one) => `packages/${one}/assay.json`)])
      if (existsSync(join(first, file))) {
        const kept = join(shop.folder, place, 'kept', file);
        mkdirSync(dirname(kept), { recursive: true });
        copyFileSync(join(first, file), kept);
        written.set(file, kept);
      }

    const run = async (machine: string, path: string) => {
      const folder = clone(path);
      const env = { ASSAY_STORE: join(shop.folder, place, machine), ASSAY_REMOTE: server.url };
      const names = [...new Set(steps.map((step) => step.replace(/.*#/, '')))];
      return runSteps(shop, names, { cwd: folder, env });
    };
    const all = (outcome: string) => Object.fromEntries(steps.map((step) => [step, outcome]));
    const cold = await run('a', 'home/project');
    expect([cold.code, cold.outcomes], cold.stderr).toEqual([0, all('miss')]);
    if (existsSync(installed)) renameSync(installed, join(shop.folder, 'installed'));
    installed = join(shop.folder, 'installed');
    rmSync(join(shop.folder, place, 'home'), { recursive: true });
    const again = await run('b', 'home/project');
    expect(again.outcomes, JSON.stringify(again.ends)).toEqual(all('hit-remote'));
    const moved = await run('c', 'a/deeper/place');
    expect(moved.outcomes, JSON.stringify(moved.ends)).toEqual(all('hit-remote'));
  },
);
