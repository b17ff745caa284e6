// Actions of make.
import type { Case } from './case.ts';

const MAKEFILE = 'dist/app: src/main.c\n\tmkdir -p dist\n\tgcc -o $@ $<\n';
const MAIN = 'int main(void) { return 0; }\n';

export const MAKE: readonly Case[] = [
  {
    name: 'includes an undeclared file',
    files: { Makefile: 'include config.mk\nout: in\n\tcp in out\n', 'config.mk': '', in: 'x' },
    inputs: ['Makefile', 'in'],
    outputs: ['out'],
    command: ['make', '-s', '-r'],
    finds: ['read config.mk'],
  },
  {
    name: 'skips its work because the output exists',
    files: { Makefile: MAKEFILE, 'src/main.c': MAIN, 'dist/app': 'old' },
    inputs: ['Makefile', 'src/**'],
    optional: ['GNUmakefile', 'makefile'],
    outputs: ['dist'],
    command: ['make', '-s', '-r'],
    finds: ['stale-output dist/app'],
  },
  {
    name: 'uses every file in a folder',
    files: {
      Makefile: 'SOURCES := $(sort $(wildcard src/*.c))\nout: $(SOURCES)\n\tcat $^ >$@\n',
      'src/a.c': '',
    },
    inputs: ['Makefile', 'src/a.c'],
    optional: ['GNUmakefile', 'makefile'],
    outputs: ['out'],
    command: ['make', '-s'],
    finds: ['list src'],
  },

  // ---- hermetic ----
  {
    name: 'uses every file in a folder that a pattern declares, beside other files',
    files: {
      Makefile: 'out: $(sort $(wildcard *.c))\n\tcat $^ >$@\n',
      'a.c': '',
      README: '',
    },
    inputs: ['Makefile', '*.c'],
    optional: ['GNUmakefile', 'makefile'],
    outputs: ['out'],
    command: ['make', '-s'],
    finds: [],
  },
  {
    name: 'builds by built-in rules',
    files: { Makefile: '.PHONY: all\nall: app\napp: app.o\n', 'app.c': MAIN },
    inputs: ['Makefile', 'app.c'],
    optional: ['GNUmakefile', 'makefile'],
    outputs: ['app', 'app.o'],
    command: ['make', '-s'],
    finds: [],
  },
  {
    name: 'builds a program from declared sources',
    files: { Makefile: MAKEFILE, 'src/main.c': MAIN },
    inputs: ['Makefile', 'src/**'],
    optional: ['GNUmakefile', 'makefile'],
    outputs: ['dist'],
    command: ['make', '-s', '-r'],
    finds: [],
  },
  {
    name: 'builds with many processes at once',
    files: {
      Makefile: 'all: dist/a dist/b dist/c\ndist/%: src/%\n\tmkdir -p dist\n\tcp $< $@\n',
      'src/a': 'a',
      'src/b': 'b',
      'src/c': 'c',
    },
    inputs: ['**'],
    outputs: ['dist'],
    command: ['make', '-s', '-r', '-j4'],
    finds: [],
  },
  {
    name: 'builds a phony goal, with its built-in rules',
    files: { Makefile: 'all: out\nout: in\n\tcp in out\n', in: 'x' },
    inputs: ['Makefile', 'in'],
    outputs: ['out'],
    command: ['make', '-s'],
    finds: [],
  },
];
