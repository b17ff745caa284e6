// make and gcc: names that make looks up in memory after it has listed a folder, and headers that shadow others.
import { type Cook, type Recipe, versions } from './recipe.ts';

const SOURCES = {
  'c/one.c': versions((word) => `int one(void) { return sizeof "${word}"; } /* ${word} */\n`),
  'c/two.c': versions((word) => `int two(void) { return 2; } /* ${word} */\n`),
  'over/two.c': versions((word) => `int two(void) { return 3; } /* ${word} */\n`),
};

const INPUTS: Recipe['inputs'] = [
  ['Makefile', 'c/*.c'],
  ['Makefile', 'c/**', 'over/**'],
  ['Makefile', 'c/**', '!c/*.mk'],
  ['**', '!**/*.mk'],
  [],
];

interface Makefile {
  readonly name: string;
  readonly lines: readonly string[];
  readonly tempting: Readonly<Record<string, string>>;
}

const MORE = 'EXTRA = more\n';
const ADDED = {
  'c/three.c': 'int three(void) { return 3; }\n',
  'c/.one.c.swp': 'swap\n',
  'notes.txt': 'notes\n',
};
const CONCATENATE = 'built.txt: $(S) ; @echo $(EXTRA) $(S); cat $(S) > $@';

const MAKEFILES: readonly Makefile[] = [
  {
    name: 'wildcard of a variable',
    lines: ['D = c', 'S = $(wildcard $(D)/*.c)', CONCATENATE],
    tempting: ADDED,
  },
  {
    name: 'VPATH',
    lines: ['VPATH = over:c', 'built.txt: one.c ; cat $< > $@'],
    tempting: { 'over/one.c': 'int one(void) { return 9; }\n', 'one.c': 'int one(void) { return 8; }\n' },
  },
  {
    name: 'implicit rules',
    lines: ['built.txt: c/one.x ; cp c/one.x $@', '%.x: %.pre ; cp $< $@', '%.x: %.c ; cp $< $@'],
    tempting: { 'c/one.pre': 'pre\n', 'c/one.x,v': 'rcs\n' },
  },
  {
    name: 'include of a pattern',
    lines: ['S = c/one.c', '-include c/*.mk', CONCATENATE],
    tempting: { 'c/more.mk': MORE, 'c/more.mk~': MORE },
  },
  {
    name: 'above the workspace',
    lines: ['S = c/one.c', 'M = $(wildcard ../*.mk)', 'include $(M)', CONCATENATE],
    tempting: { '../more.mk': MORE, '../other.mk': 'EXTRA = other\n' },
  },
];

export const make: Cook = (random) => {
  const { name, lines, tempting } = random.pick(MAKEFILES);
  const makefile: [string, string] = [`${lines.join('\n')}\n`, `${lines.join('\n')}\n# again\n`];
  const outputs = name === 'implicit rules' ? ['built.txt', 'c/one.x'] : ['built.txt'];
  return {
    name: `make: ${name}`,
    files: { Makefile: makefile, ...SOURCES },
    tempting: { ...tempting, 'README.md': 'read me\n' },
    parts: ['make -s'],
    argv: ['make', '-s'],
    inputs: INPUTS,
    outputs,
    ignored: '*.swp\nbuilt.txt\n*.x\n',
  };
};

export const gcc: Cook = (random) => {
  const line = random.pick([
    'gcc -Iinc/first -Iinc -c c/main.c -o main.o',
    'gcc -E -P -Iinc/first -Iinc c/main.c -o main.o',
  ]);
  return {
    name: 'gcc',
    files: {
      'c/main.c': versions(
        (word) =>
          `#include "x.h"\n#if __has_include("maybe.h")\n#include "maybe.h"\n#endif\nconst char *word = X "${word}";\n`,
      ),
      'inc/x.h': versions((word) => `#define X "${word}"\n`),
      'inc/first/y.h': versions((word) => `#define Y "${word}"\n`),
    },
    tempting: {
      'inc/first/x.h': '#define X "first"\n',
      'c/x.h': '#define X "beside"\n',
      'inc/maybe.h': 'int maybe;\n',
      'c/notes.txt': 'notes\n',
    },
    parts: [line],
    argv: line.split(' '),
    inputs: [['c/*.c', 'inc/*.h'], ['c', 'inc'], ['**/*.c'], ['**', '!inc/first/**'], []],
    outputs: ['main.o'],
  };
};
