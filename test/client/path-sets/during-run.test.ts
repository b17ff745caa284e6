// Somebody changes the workspace while a command runs. What counts is what the command was shown: a result is published
// with that, or not at all.
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RanWithSummary, Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('src/a', 'a\n');
  shop.write('src/b', 'b\n');
});

afterEach(() => shop.remove());

/** The command stops here until the test has done its edit: it tells its scratch folder, and waits for a file there. */
const PAUSE = 'echo "ready $TMPDIR"; while [ ! -e "$TMPDIR/go" ]; do sleep 0.05; done';
const LONG_PAUSE = PAUSE.replaceAll('ready', 'again').replaceAll('/go', '/on');

const at = (path: string) => join(shop.workspace, path);

/** Runs `script` in a shell, with an edit at each pause. */
async function run(
  flags: readonly string[],
  script: string,
  edit: () => void = () => {},
  later: () => void = () => {},
): Promise<RanWithSummary> {
  /* Each is taken once: the scratch folder is gone when the last words come. */
  const pauses = [
    { word: /ready (\S+)/, file: 'go', edit },
    { word: /again (\S+)/, file: 'on', edit: later },
  ];
  return shop.run([...flags, '--output', 'o', '--', 'sh', '-c', script], {
    onSaid: ({ stdout }) => {
      for (const pause of [...pauses]) {
        const [, scratch] = pause.word.exec(stdout) ?? [];
        if (scratch === undefined) continue;
        pauses.splice(pauses.indexOf(pause), 1);
        pause.edit();
        writeFileSync(join(scratch, pause.file), '');
      }
    },
  });
}

const DECLARED = ['--input', 'src/**'];
/** An empty folder is an input of `src/**`, but not of these. */
const NAMED = ['--input', 'src/a', '--input', 'src/b'];

describe('names that come and go', () => {
  test('a folder that is made after the listing is a miss of the next run', async () => {
    const script = `ls src >o; ${PAUSE}`;
    const first = await run(NAMED, script, () => mkdirSync(at('src/x')));
    expect(first.summary).toMatchObject({ outcome: 'miss', published: true });
    const second = await run(NAMED, script);
    expect(second.summary.outcome).toBe('miss');
    expect(readFileSync(at('o'), 'utf8')).toBe('a\nb\nx\n');
  });

  test('two listings that differ are not published', async () => {
    const script = `ls src >o; ${PAUSE}; ls src >>o`;
    const { summary } = await run(NAMED, script, () => mkdirSync(at('src/x')));
    expect(summary).toMatchObject({ published: false });
    expect(summary.notPublished).toContain('src/x came, went or became something else while it ran');
  });

  test('a name that is gone between two listings is not published either', async () => {
    shop.write('other/one', '');
    const script = `ls other >o; ${PAUSE}; ls other >>o`;
    const { summary } = await run(DECLARED, script, () => rmSync(at('other/one')));
    expect(summary.published).toBe(false);
  });

  test('names that the command makes itself are no difference', async () => {
    const script = 'ls src >o; mkdir src/own; ls src >>o; rmdir src/own; ls src >>o';
    expect((await run(NAMED, script)).summary.published).toBe(true);
    expect((await run(NAMED, script)).summary.outcome).toBe('hit-local');
  });
});

describe('files that somebody else touches', () => {
  test('a swap file that exists for a while and is copied is not published, strict', async () => {
    const strict = ['--hermetic=strict', ...DECLARED];
    const { summary } = await run(
      strict,
      `${PAUSE}; cat src/* >o; ${LONG_PAUSE}`,
      () => shop.write('src/.a.swp', 'swap\n') && shop.write('src/swap', 'swap\n'),
      () => ['src/.a.swp', 'src/swap'].forEach((path) => void rmSync(at(path))),
    );
    expect(readFileSync(at('o'), 'utf8')).toContain('swap');
    expect(summary.published).toBe(false);
  });

  test.each([
    ['declared', DECLARED],
    ['undeclared', []],
  ])('a folder that is swapped by mv, and swapped back: %s', async (_, inputs) => {
    shop.write('other/a', 'other\n');
    const swap = () => {
      renameSync(at('src'), at('aside'));
      renameSync(at('other'), at('src'));
    };
    const back = () => {
      renameSync(at('src'), at('other'));
      renameSync(at('aside'), at('src'));
    };
    const flags = inputs.length > 0 ? inputs : ['--optional-input', 'none'];
    const { summary } = await run(flags, `cat src/b >o; ${PAUSE}; cat src/a >>o; ${LONG_PAUSE}`, swap, back);
    expect(readFileSync(at('o'), 'utf8')).toBe('b\nother\n');
    expect(summary.published).toBe(false);
  });

  test.each([
    ['declared', DECLARED],
    ['undeclared', ['--optional-input', 'none']],
  ])('a file that is changed, read, and changed back, with its old times: %s', async (_, inputs) => {
    const old = new Date('2026-01-01');
    utimesSync(at('src/a'), old, old);
    const put = (content: string) => () => {
      writeFileSync(at('src/a'), content);
      utimesSync(at('src/a'), old, old);
    };
    const { summary } = await run(inputs, `${PAUSE}; cat src/a >o; ${LONG_PAUSE}`, put('x\n'), put('a\n'));
    expect(readFileSync(at('o'), 'utf8')).toBe('x\n');
    expect(summary.published).toBe(false);
  });
});

test('make in its source folder is kept', async () => {
  shop.write(
    'Makefile',
    'o: $(patsubst %.c,%.x,$(wildcard *.c))\n\tcat $^ >o\n%.x: %.c\n\tls >/dev/null; cp $< $@\n',
  );
  for (const name of ['one', 'two', 'three']) shop.write(`${name}.c`, name);
  const flags = [
    '--input',
    '*.c',
    '--input',
    'Makefile',
    ...['one', 'two', 'three'].flatMap((name) => ['--output', `${name}.x`]),
  ];
  const first = await run(flags, 'make -j3 o');
  expect(first.summary).toMatchObject({ outcome: 'miss', published: true });
  expect((await run(flags, 'make -j3 o')).summary.outcome).toBe('hit-local');
});

describe('something else stands at a path for a while', () => {
  const swap = (one: string, other: string) => () => {
    renameSync(at(one), at('third'));
    renameSync(at(other), at(one));
    renameSync(at('third'), at(other));
  };
  const put = (one: string, place: () => void) => () => {
    renameSync(at(one), at('third'));
    place();
  };
  const back = (one: string) => () => {
    rmSync(at(one));
    renameSync(at('third'), at(one));
  };
  const asFile = (path: string) => put(path, () => writeFileSync(at(path), 'file\n'));
  const asLink = (path: string, to: string) => put(path, () => symlinkSync(to, at(path)));
  const isFile = (path: string) => `if [ -f ${path} ]; then echo file; else echo other; fi >o`;
  const isFull = (path: string) => `if [ -s ${path} ]; then echo full; else echo empty; fi >o`;
  const isThere = (path: string) => `if [ -e ${path} ]; then echo yes; else echo no; fi >o`;

  beforeEach(() => {
    shop.write('lib/x', '');
    shop.write('lib2/x', 'full\n');
    for (const folder of ['bin', 'bin2']) mkdirSync(at(folder));
    copyFileSync('/bin/true', at('bin/x'));
    copyFileSync('/bin/false', at('bin2/x'));
  });

  test.each<[string, string, string, () => void, () => void]>([
    ['a folder of inputs is a file', '', 'cp -r src o', asFile('src'), back('src')],
    ['a folder of inputs is asked for its type', '', isFile('src'), asFile('src'), back('src')],
    ['a folder of inputs is a link', '', 'cp -r src/. o', asLink('src', 'lib2'), back('src')],
    ['an undeclared folder is a file', '', isFile('lib'), asFile('lib'), back('lib')],
    ['the size of an undeclared file', '', isFull('lib/x'), swap('lib', 'lib2'), swap('lib', 'lib2')],
    ['the size of a declared file', '', isFull('src/a'), swap('src', 'lib3'), swap('src', 'lib3')],
    [
      'a file that was looked at before',
      isFull('lib/x'),
      isFull('lib/x'),
      swap('lib', 'lib2'),
      swap('lib', 'lib2'),
    ],
    [
      'a file that is there for a while',
      isThere('flag'),
      isThere('flag'),
      () => shop.write('flag', ''),
      () => rmSync(at('flag')),
    ],
    [
      'a file that is gone for a while',
      isThere('lib/x'),
      isThere('lib/x'),
      () => renameSync(at('lib'), at('third')),
      () => renameSync(at('third'), at('lib')),
    ],
    [
      'a file that is opened again',
      'cat lib2/x >o',
      'cat lib2/x >o || :',
      () => renameSync(at('lib2'), at('third')),
      () => renameSync(at('third'), at('lib2')),
    ],
    [
      'a program',
      '',
      'if bin/x; then echo true; else echo false; fi >o',
      swap('bin', 'bin2'),
      swap('bin', 'bin2'),
    ],
  ])('%s', async (_, before, during, edit, later) => {
    shop.write('lib3/a', '');
    const script = `${before === '' ? ':' : before}; ${PAUSE}; ${during}; ${LONG_PAUSE}`;
    const { summary } = await run(NAMED, script, edit, later);
    expect(summary).toMatchObject({ outcome: 'miss', published: false });
    expect(summary.notPublished).toMatch(/while it ran|not there any more/);
    expect((await run(NAMED, script)).summary).toMatchObject({ outcome: 'miss', published: true });
  });

  test('a working folder that is moved away', async () => {
    const script = `${PAUSE}; cd lib2; ${LONG_PAUSE}; cat x >../o`;
    shop.write('lib/x', 'other\n');
    const { summary } = await run(NAMED, script, swap('lib', 'lib2'), swap('lib', 'lib2'));
    expect(summary.notPublished).toContain('lib2 was moved or replaced while it ran');
  });
});
