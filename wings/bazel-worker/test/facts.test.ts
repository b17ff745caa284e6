// What the tool of `assay bazel-worker` reads beyond the inputs that Bazel sent: a hit only while it is the
// same.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FORMS, Workshop } from '../../../test/rig/assay.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { waysOf } from '../../../test/rig/soak.ts';
import { settled, untilThere } from '../../../test/rig/waiting.ts';
import { BazelDriver, encodeRequest, inputOf, type Layout, layOut } from './bazel.ts';

const INPUTS = ['words/in.txt', 'tools/tool.sh'];
const ARGS = ['--out', 'bazel-out/made.txt'];

let shop: Workshop;
const started: BazelDriver[] = [];

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => {
  for (const bazel of started.splice(0)) bazel.child.kill('SIGKILL');
  shop.remove();
});

type WorkerProgram = Pick<ConstructorParameters<typeof BazelDriver>[1], 'assay' | 'env'>;

/** A source tree, the folder in which Bazel shows it to a worker, and the worker. */
class Place {
  readonly #layout: Layout;
  readonly tree: string;
  readonly root: string;
  readonly #flags: readonly string[];
  readonly #worker: WorkerProgram;
  #bazel: BazelDriver | undefined;

  constructor(
    name: string,
    layout: Layout,
    script: readonly string[],
    { flags = [], ...worker }: WorkerProgram & { flags?: readonly string[] } = {},
  ) {
    this.#worker = worker;
    this.#layout = layout;
    this.tree = join(shop.folder, name, 'tree');
    this.root = layout === 'plain' ? this.tree : join(shop.folder, name, 'base', layout, 'main');
    this.#flags = ['--store', join(shop.folder, name, 'store'), '--output-flag=--out', ...flags];
    this.write('words/in.txt', 'in\n');
    this.write('tools/tool.sh', ['#!/bin/sh', 'out=$2', ...script, ''].join('\n'), 0o755);
    // Bazel makes the folders of outputs before it asks a worker.
    mkdirSync(join(this.tree, 'bazel-out'), { recursive: true });
  }

  write(path: string, content: string, mode?: number): void {
    shop.write(path, content, mode, this.tree);
  }

  get bazel(): BazelDriver {
    if (!this.#bazel) {
      this.layOut();
      this.#bazel = new BazelDriver([...this.#flags, '--', 'tools/tool.sh'], {
        cwd: this.root,
        ...this.#worker,
      });
      started.push(this.#bazel);
    }
    return this.#bazel;
  }

  layOut(): void {
    layOut(this.#layout, this.tree, this.root, INPUTS);
  }

  get sent() {
    return INPUTS.map((path) => inputOf(this.tree, path));
  }

  /** What the tool made, after a request as Bazel sends it. */
  async build(): Promise<string> {
    const { bazel } = this;
    await this.prepare();
    const { exitCode, output } = await bazel.request(ARGS, this.sent);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
    return this.made();
  }

  /** Lays out the inputs, and a folder without outputs. */
  async prepare(): Promise<void> {
    this.layOut();
    rmSync(join(this.root, 'bazel-out'), { recursive: true, force: true });
    mkdirSync(join(this.root, 'bazel-out'));
    await settled(join(this.root, 'bazel-out'));
  }

  made(): string {
    return readFileSync(join(this.root, 'bazel-out/made.txt'), 'utf8');
  }

  get outcomes(): (string | undefined)[] {
    return [...this.bazel.log.matchAll(/^assay: (hit-local|hit-remote|miss|uncached)/gm)].map(
      ([, outcome]) => outcome,
    );
  }
}

interface Case {
  readonly name: string;
  readonly script: readonly string[];
  /** Puts the first or the second state there. */
  put(place: Place, state: 1 | 2): void;
}

const CASES: readonly Case[] = [
  {
    name: 'a file in the exec root',
    script: ['cat words/in.txt config > "$out"'],
    put: (place, state) => place.write('config', `config ${state}\n`),
  },
  {
    name: 'a file beside an input',
    script: ['cat words/in.txt words/more.txt > "$out"'],
    put: (place, state) => place.write('words/more.txt', `more ${state}\n`),
  },
  {
    name: 'a file outside',
    script: ['cat words/in.txt "$(dirname "$(realpath "$0")")/../../outside.txt" > "$out"'],
    put: (place, state) => writeFileSync(join(place.tree, '../outside.txt'), `outside ${state}\n`),
  },
  {
    name: 'a file that is absent at first',
    script: ['cat words/in.txt > "$out"', 'if [ -e extra ]; then cat extra >> "$out"; fi'],
    put: (place, state) => {
      if (state === 2) place.write('extra', 'extra\n');
      else rmSync(join(place.tree, 'extra'), { force: true });
    },
  },
  {
    name: 'a file that is absent at first in a folder of inputs',
    script: ['cat words/in.txt > "$out"', 'if [ -e words/extra ]; then cat words/extra >> "$out"; fi'],
    put: (place, state) => {
      if (state === 2) place.write('words/extra', 'extra\n');
      else rmSync(join(place.tree, 'words/extra'), { force: true });
    },
  },
  {
    name: 'a folder that it lists',
    script: ['echo parts/* > "$out"'],
    put: (place, state) => {
      place.write('parts/one', '');
      if (state === 2) place.write('parts/two', '');
      else rmSync(join(place.tree, 'parts/two'), { force: true });
    },
  },
  {
    name: 'a folder of inputs that it lists',
    script: ['echo words/* > "$out"'],
    put: (place, state) => {
      if (state === 2) place.write('words/two', '');
      else rmSync(join(place.tree, 'words/two'), { force: true });
    },
  },
  {
    name: 'a link that it follows',
    script: ['cat words/in.txt words/link > "$out"'],
    put: (place, state) => {
      place.write('words/a', 'a\n');
      place.write('words/b', 'b\n');
      rmSync(join(place.tree, 'words/link'), { force: true });
      symlinkSync(state === 1 ? 'a' : 'b', join(place.tree, 'words/link'));
    },
  },
];

const IN_A_LAYOUT = CASES.flatMap((one, at) =>
  waysOf<Layout>(['plain', 'execroot'], at).map((layout) => ({ ...one, layout })),
);

test.each(IN_A_LAYOUT)('$name, $layout layout', async ({ script, put, layout }) => {
  const place = new Place('one', layout, script);
  put(place, 1);
  const first = await place.build();
  expect(await place.build()).toBe(first);
  put(place, 2);
  const second = await place.build();
  expect(second).not.toBe(first);
  expect(await place.build()).toBe(second);
  put(place, 1);
  expect(await place.build()).toBe(first);
  expect(place.outcomes).toEqual(['miss', 'hit-local', 'miss', 'hit-local', 'hit-local']);
});

describe.each<Layout>(['plain', 'execroot', 'sandbox'])(
  'two workers on different paths, %s layout',
  (layout) => {
    let server: ServerProcess;
    beforeEach(async () => {
      server = await ServerProcess.start(join(shop.folder, 'server'));
    });
    afterEach(() => server.stop());

    const SCRIPT = [
      'cat words/in.txt > "$out"',
      'cat "$(dirname "$(realpath words/in.txt)")/../config" >> "$out"',
    ];
    const place = (name: string, config: string, script = SCRIPT): Place => {
      const made = new Place(name, layout, script, { flags: ['--remote', server.url] });
      made.write('config', config);
      return made;
    };

    test('share a result if what the tool read is the same, and only then', async () => {
      const [one, two, other] = [
        place('one', 'same\n'),
        place('deeper/two', 'same\n'),
        place('other', 'another\n'),
      ];
      expect(await one.build()).toBe('in\nsame\n');
      expect(await two.build()).toBe('in\nsame\n');
      expect(await other.build()).toBe('in\nanother\n');
      expect([one, two, other].map(({ outcomes }) => outcomes)).toEqual([['miss'], ['hit-remote'], ['miss']]);
    });

    test('a result that has the path of the source tree in it stays with that path', async () => {
      const script = ['realpath words/in.txt > "$out"'];
      const [one, two] = [place('one', '', script), place('deeper/two', '', script)];
      for (const each of [one, two, one, two])
        expect(await each.build()).toBe(`${join(each.tree, 'words/in.txt')}\n`);
      expect([one.outcomes, two.outcomes]).toEqual([
        ['miss', 'hit-local'],
        ['miss', 'hit-local'],
      ]);
    });

    test('a hermetic tool shares its result', async () => {
      const script = ['cat words/in.txt > "$out"'];
      const [one, two] = [place('one', '', script), place('deeper/two', '', script)];
      expect(await one.build()).toBe(await two.build());
      expect([two.outcomes, two.bazel.log]).toEqual([['hit-remote'], expect.anything()]);
    });
  },
);

test('the inputs of a request are no findings, whatever links lead to them', async () => {
  for (const layout of ['plain', 'execroot', 'sandbox'] as const) {
    const place = new Place(layout, layout, [
      'cat words/in.txt > "$out"',
      'real=$(realpath words/in.txt)',
      'cat "$real" >> "$out"; cd "$(dirname "$real")"; test -d . && test -r "$real"',
    ]);
    await place.build();
    expect(place.bazel.log).not.toContain('not declared');
  }
});

test('an input that the tool changes through a link is not kept', async () => {
  const place = new Place('one', 'execroot', ['cat words/in.txt > "$out"', 'echo more >> words/in.txt']);
  expect(await place.build()).toBe('in\n');
  expect(place.bazel.log).toContain('not stored');
});

test('a result is not kept if a link to a folder of inputs led elsewhere for a while', async () => {
  const place = new Place('one', 'execroot', [
    `echo "$TMPDIR" >told; while [ ! -e "$TMPDIR/go" ]; do sleep 0.05; done`,
    'test -L words && cat words/in.txt > "$out"; readlink words >>"$out"',
  ]);
  const { bazel, root } = place;
  const [link, kept, told] = [join(root, 'words'), join(root, 'kept'), join(root, 'told')];
  await place.prepare();
  bazel.write(encodeRequest(ARGS, place.sent, { id: 1 }));
  await vi.waitUntil(() => existsSync(told) && readFileSync(told, 'utf8').endsWith('\n'), {
    timeout: 90_000,
  });
  renameSync(link, kept);
  symlinkSync(join(place.tree, 'tools'), link);
  rmSync(link);
  renameSync(kept, link);
  writeFileSync(join(readFileSync(told, 'utf8').trim(), 'go'), '');
  expect(await bazel.response()).toMatchObject({ exitCode: 0 });
  expect(bazel.log).toMatch(/not stored: \S*words was moved or replaced while it ran/);
});

test('a tool that uses the network is not kept', async () => {
  const server = createServer((socket) => socket.end('answer\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const place = new Place('one', 'plain', [`bash -c 'cat < /dev/tcp/127.0.0.1/${port}' > "$out"`]);
    expect(await place.build()).toBe('answer\n');
    expect(await place.build()).toBe('answer\n');
    expect(place.outcomes).toEqual(['miss', 'miss']);
  } finally {
    server.close();
  }
});

test('a tool that dies fails its request only', async () => {
  const place = new Place('one', 'execroot', [
    'if [ -e dies ]; then kill -9 $$; fi',
    'cat words/in.txt > "$out"',
  ]);
  place.write('dies', '');
  place.layOut();
  const { exitCode } = await place.bazel.request(ARGS, place.sent);
  expect(exitCode).toBe(1);
  rmSync(join(place.tree, 'dies'));
  expect(await place.build()).toBe('in\n');
});

test('a cancelled request ends its tool, is answered once, and leaves no result', async () => {
  const place = new Place('one', 'plain', [
    `if [ -e hangs ]; then echo > began; ${untilThere('never')}; fi`,
    'cat words/in.txt > "$out"',
  ]);
  place.write('hangs', '');
  const { bazel } = place;
  bazel.write(encodeRequest(ARGS, place.sent, { id: 7 }));
  await vi.waitUntil(() => existsSync(join(place.tree, 'began')), { timeout: 90_000 });
  bazel.write(encodeRequest([], [], { id: 7, cancel: true }));
  expect(await bazel.response()).toMatchObject({ exitCode: 1, id: 7 });
  rmSync(join(place.tree, 'hangs'));
  expect(await place.build()).toBe('in\n');
  expect((await bazel.close()).code).toBe(0);
});

test('requests with ids are answered once each and in order, cancelled or not', async () => {
  const place = new Place('one', 'plain', [`echo > began; ${untilThere('go')}`, 'echo > "$out"']);
  const { bazel } = place;
  bazel.write(encodeRequest([...ARGS, 'first'], place.sent, { id: 1 }));
  await vi.waitUntil(() => existsSync(join(place.tree, 'began')), { timeout: 90_000 });
  bazel.write(encodeRequest([...ARGS, 'second'], place.sent, { id: 2 }));
  bazel.write(encodeRequest([], [], { id: 2, cancel: true }));
  bazel.write(encodeRequest([], [], { id: 99, cancel: true }));
  bazel.write(encodeRequest([...ARGS, 'third'], place.sent, { id: 3 }));
  place.write('go', '');
  const answers = [await bazel.response(), await bazel.response(), await bazel.response()];
  expect(answers.map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(answers.map(({ exitCode }) => exitCode)).toEqual([0, expect.any(Number), 0]);
  expect((await bazel.close()).code).toBe(0);
});

test('an unwatched result of an earlier version is not taken', async () => {
  const place = new Place('one', 'plain', ['cat words/in.txt config > "$out"']);
  place.write('config', 'old\n');
  const flags = INPUTS.flatMap((path) => ['--input', path]);
  const store = ['--store', join(shop.folder, 'one/store')];
  const command = ['--output', 'bazel-out/made.txt', '--', 'tools/tool.sh', ...ARGS];
  const { summary } = await shop.run([...store, '--hermetic=off', ...flags, ...command], { cwd: place.tree });
  expect(summary).toMatchObject({ published: true, status: 'unwatched' });
  place.write('config', 'new\n');
  expect(await place.build()).toBe('in\nnew\n');
});

test('without a tracer the tool runs unwatched, and the worker says so once', async () => {
  const bundle = join(shop.folder, 'copy', 'node');
  cpSync(dirname(FORMS.bundle[1]), bundle, { recursive: true });
  const bin = join(shop.folder, 'bin');
  mkdirSync(bin);
  for (const name of ['sh', 'cat', 'realpath']) symlinkSync(`/bin/${name}`, join(bin, name));
  const place = new Place('one', 'execroot', ['cat words/in.txt config > "$out"'], {
    assay: [FORMS.bundle[0], join(bundle, 'assay.cjs')],
    env: { PATH: bin },
  });
  place.write('config', 'c\n');
  expect(await place.build()).toBe('in\nc\n');
  place.write('words/in.txt', 'changed\n');
  expect(await place.build()).toBe('changed\nc\n');
  expect(place.bazel.log.match(/runs unwatched/g)).toHaveLength(1);
});
