// Actions of the TypeScript compiler, which is a static Go binary.
import { type Case, TSC } from './case.ts';

const CONFIG = JSON.stringify({
  compilerOptions: {
    outDir: 'dist',
    rootDir: 'src',
    types: [],
    lib: ['es2024'],
    module: 'esnext',
    moduleResolution: 'bundler',
  },
  include: ['src/**/*.ts'],
});

export const TYPESCRIPT: readonly Case[] = [
  {
    name: 'compiles an undeclared file',
    files: {
      'package.json': '{}',
      'tsconfig.json': CONFIG,
      'src/a.ts': 'import { b } from "./b"; export const a = b;',
      'src/b.ts': 'export const b = 1;',
    },
    inputs: ['package.json', 'tsconfig.json', 'src/a.ts'],
    outputs: ['dist'],
    command: [TSC, '-p', '.'],
    finds: ['list src', 'read src/b.ts'],
  },
  {
    name: 'extends an undeclared configuration',
    files: {
      'package.json': '{}',
      'base.json': CONFIG,
      'tsconfig.json': '{ "extends": "./base.json" }',
      'src/a.ts': 'export const a = 1;',
    },
    inputs: ['package.json', 'tsconfig.json', 'src/**'],
    outputs: ['dist'],
    command: [TSC, '-p', '.'],
    finds: ['read base.json'],
  },

  {
    name: 'compiles every file in a folder',
    files: { 'package.json': '{}', 'tsconfig.json': CONFIG, 'src/a.ts': 'export const a = 1;' },
    inputs: ['package.json', 'tsconfig.json', 'src/a.ts'],
    outputs: ['dist'],
    command: [TSC, '-p', '.'],
    finds: ['list src'],
  },

  // ---- hermetic ----
  {
    name: 'compiles a declared project',
    files: {
      'package.json': '{}',
      'tsconfig.json': CONFIG,
      'src/a.ts': 'import { b } from "./b"; export const a = b;',
      'src/b.ts': 'export const b = 1;',
    },
    inputs: ['package.json', 'tsconfig.json', 'src/**'],
    outputs: ['dist'],
    command: [TSC, '-p', '.'],
    finds: [],
  },
];
