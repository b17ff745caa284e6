// node: how it resolves modules, what it lists, and its own test runner.
import { type Cook, type Recipe, versions } from './recipe.ts';

interface Script {
  readonly name: string;
  readonly lines: readonly string[];
  readonly tempting: Readonly<Record<string, string>>;
}

const says = (word: string) => `module.exports = "${word}";\n`;

const SCRIPTS: readonly Script[] = [
  {
    name: 'resolution',
    lines: ['say(require("./lib/part"));', 'say(require("dep"));'],
    tempting: {
      'js/lib/part.js': says('file before folder'),
      'js/lib/part.json': '"json"\n',
      'js/node_modules/dep/index.js': says('nearer dep'),
      'js/notes.txt': 'notes\n',
    },
  },
  {
    name: 'linked package',
    lines: ['say(require("linked"));'],
    tempting: {
      'node_modules/linked/node_modules/dep/index.js': says('own dep'),
      'store/dep/index.js': says('dep of store'),
    },
  },
  {
    name: 'readdir with types',
    lines: [
      'const entries = fs.readdirSync(__dirname + "/lib", { withFileTypes: true, recursive: true });',
      'say(entries.map((e) => e.name + (e.isDirectory() ? "/" : "") + (e.isSymbolicLink() ? "@" : "")).sort().join());',
    ],
    tempting: { 'js/lib/new.js': says('new'), 'js/lib/.hidden': 'hidden\n', 'js/lib/empty/x': 'x\n' },
  },
  {
    name: 'optional file',
    lines: ['say(fs.existsSync("js/local.json") ? fs.readFileSync("js/local.json", "utf8") : "none");'],
    tempting: { 'js/local.json': '{}\n', 'js/local.json~': '{}\n' },
  },
];

const INPUTS: Recipe['inputs'] = [
  ['js/*.js', 'js/**/*.js'],
  ['js', 'node_modules/**'],
  ['js/**', '!js/local.json'],
  ['**'],
  [],
];

export const node: Cook = (random) => {
  const { name, lines, tempting } = random.pick(SCRIPTS);
  const main = (word: string) =>
    [
      'const fs = require("fs");',
      'const say = (text) => fs.appendFileSync("node.txt", text + "\\n");',
      ...lines,
      `say("${word}");`,
      '',
    ].join('\n');
  return {
    name: `node: ${name}`,
    files: {
      'js/main.js': versions(main),
      'js/lib/part/index.js': versions(says),
      'node_modules/dep/index.js': versions(says),
      'node_modules/linked/index.js': versions((word) => `module.exports = require("dep") + "${word}";\n`),
    },
    tempting: { ...tempting, 'package.json': '{ "type": "commonjs" }\n' },
    parts: ['node js/main.js'],
    argv: ['node', 'js/main.js'],
    inputs: INPUTS,
    outputs: ['node.txt'],
    tools: ['node'],
    ignored: 'local.json\n',
  };
};

/** The exit code is the result: the report has durations in it. */
export const nodeTests: Cook = () => ({
  name: 'node --test',
  files: {
    'test/a.test.js': versions((word) => `require("node:test")("${word}", () => require("../js/lib.js"));\n`),
    'js/lib.js': versions(says),
  },
  tempting: {
    'test/b.test.mjs': 'throw new Error("failing test");\n',
    'test/c.test.js': 'require("node:test")("c", () => {});\n',
    'test/notes.txt': 'notes\n',
  },
  parts: ['node --test test/ > /dev/null'],
  inputs: [['test/*.test.js', 'js/**'], ['test/**', 'js/*.js'], ['**', '!**/*.mjs'], []],
  outputs: [],
  tools: ['node'],
});

/** A script that only has the name of a known tool: what is known about the tool must not apply to it. */
export const falseName: Cook = () => {
  const list = '["src", "."].flatMap((folder) => fs.readdirSync(folder).map((name) => folder + "/" + name))';
  const names = `${list}.filter((name) => !name.endsWith(".assay") && !name.endsWith("names.txt")).sort().join()`;
  return {
    name: 'a script named tsc',
    files: {
      'tools/tsc': versions(
        (word) => `const fs = require("fs");\nfs.writeFileSync("names.txt", "${word} " + ${names});\n`,
      ),
      'src/a.ts': versions((word) => `// ${word}\n`),
    },
    tempting: { 'src/data.csv': 'data\n', 'notes.txt': 'notes\n', 'src/b.ts': '// b\n' },
    parts: ['node tools/tsc'],
    argv: ['node', 'tools/tsc'],
    inputs: [['tools/*', 'src/**/*.ts'], ['tools', 'src'], ['**', '!**/*.csv'], []],
    outputs: ['names.txt'],
    tools: ['node'],
  };
};
