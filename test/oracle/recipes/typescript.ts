// tsc and esbuild: they list folders and act on few of the names. They start slowly, so few cases have them.
import { type Cook, versions } from './recipe.ts';

const CONFIG = { outDir: 'dist', rootDir: 'src', strict: true, module: 'esnext', target: 'es2022' };

export const tsc: Cook = () => ({
  name: 'tsc',
  files: {
    'tsconfig.json': [
      JSON.stringify({ compilerOptions: CONFIG, include: ['src'] }),
      JSON.stringify({ compilerOptions: { ...CONFIG, target: 'es2021' }, include: ['src'] }),
    ],
    'src/main.ts': versions(
      (word) => `import { part } from './lib/part';\nexport const word = part + '${word}';\n`,
    ),
    'src/lib/part.ts': versions((word) => `export const part = '${word}';\n`),
  },
  tempting: {
    'src/b.tsx': 'export const broken: number = "text";\n',
    'src/c.ts': 'export const c = 1;\n',
    'src/lib/part.d.ts': 'export declare const part: number;\n',
    'src/lib/part/index.ts': 'export const part = "index";\n',
    'src/.hidden/h.ts': 'export const h = 1;\n',
    'node_modules/@types/some/index.d.ts': 'declare const some: number;\n',
    'src/notes.md': 'notes\n',
    'README.md': 'read me\n',
    'package.json': '{ "type": "module" }\n',
  },
  parts: ['tsc -p .'],
  argv: ['tsc', '-p', '.'],
  inputs: [
    ['tsconfig.json', 'src/**/*.ts'],
    ['tsconfig.json', 'src/**'],
    ['tsconfig.json', 'src/**', '!src/**/*.tsx'],
    ['**'],
    [],
  ],
  outputs: ['dist'],
  tools: ['tsc', 'node'],
  ignored: 'dist\nnode_modules\n',
});

export const esbuild: Cook = () => ({
  name: 'esbuild',
  files: {
    'src/main.js': versions(
      (word) =>
        `import { part } from './part';\nimport dep from 'dep';\nconsole.log(part, dep, '${word}');\n`,
    ),
    'src/part.js': versions((word) => `export const part = '${word}';\n`),
    'node_modules/dep/index.js': versions((word) => `export default '${word}';\n`),
  },
  tempting: {
    'src/part.ts': 'export const part: string = "typed";\n',
    'src/part.css': 'a { color: red }\n',
    'src/notes.md': 'notes\n',
    'tsconfig.json': '{ "compilerOptions": { "paths": { "dep": ["./src/part.js"] } } }\n',
    'package.json': '{ "sideEffects": false }\n',
    '../.pnp.data.json': '{ "broken": true }\n',
    '../node_modules/dep/index.js': 'export default "above";\n',
    'src/node_modules/dep/index.js': 'export default "nearer";\n',
  },
  parts: ['esbuild src/main.js --bundle --outfile=dist/out.js --log-level=error'],
  argv: ['esbuild', 'src/main.js', '--bundle', '--outfile=dist/out.js', '--log-level=error'],
  inputs: [['src/*.js', 'node_modules/**'], ['src', 'node_modules'], ['src/**', '!src/*.css'], ['**'], []],
  outputs: ['dist/out.js'],
  tools: ['esbuild'],
  ignored: 'dist\n',
});
