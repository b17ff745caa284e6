// Actions of Node.
import { type Case, NODE } from './case.ts';

const PACKAGE = '{ "type": "commonjs" }';

export const NODE_CASES: readonly Case[] = [
  {
    name: 'reads an undeclared file',
    files: {
      'package.json': PACKAGE,
      'build.js': 'fs=require("fs");fs.writeFileSync("out",fs.readFileSync("conf"))',
      conf: 'x',
    },
    inputs: ['package.json', 'build.js'],
    outputs: ['out'],
    command: [NODE, 'build.js'],
    finds: ['read conf'],
  },
  {
    name: 'loads an undeclared module',
    files: { 'package.json': PACKAGE, 'build.js': 'require("./lib.js")', 'lib.js': '' },
    inputs: ['package.json', 'build.js'],
    command: [NODE, 'build.js'],
    finds: ['read lib.js'],
  },
  {
    name: 'would use another package if it appeared, as every require does',
    files: {
      'package.json': PACKAGE,
      'src/build.js': 'require("lib")',
      'node_modules/lib/package.json': '{ "main": "index.js" }',
      'node_modules/lib/index.js': '',
    },
    inputs: ['package.json', 'src/build.js', 'node_modules/**'],
    command: [NODE, 'src/build.js'],
    finds: [],
  },
  {
    name: 'would use another package.json if it appeared, as every Node program does',
    files: { 'src/build.js': '' },
    inputs: ['src/build.js'],
    command: [NODE, 'src/build.js'],
    finds: [],
  },
  {
    name: 'lists a folder',
    files: { 'package.json': PACKAGE, 'build.js': 'require("fs").readdirSync("data")', 'data/a': '' },
    inputs: ['package.json', 'build.js', 'data/a'],
    command: [NODE, 'build.js'],
    finds: ['list data'],
  },
  {
    name: 'connects to a service',
    files: {
      'package.json': PACKAGE,
      'build.js': 'require("net").connect(9, "127.0.0.1").on("error", () => {})',
    },
    inputs: ['package.json', 'build.js'],
    command: [NODE, 'build.js'],
    finds: ['net 127.0.0.1:9'],
  },
  {
    name: 'starts another program that reads an undeclared file',
    files: {
      'package.json': PACKAGE,
      'build.js': 'require("child_process").execFileSync("cat", ["secret"])',
      secret: '',
    },
    inputs: ['package.json', 'build.js'],
    command: [NODE, 'build.js'],
    finds: ['read secret'],
  },
  {
    name: 'writes an undeclared report in the background',
    files: { 'package.json': PACKAGE, 'build.js': 'require("fs/promises").writeFile("report.json", "{}")' },
    inputs: ['package.json', 'build.js'],
    command: [NODE, 'build.js'],
    finds: ['write report.json'],
  },

  {
    name: 'reads the resolver configuration for its own server',
    files: {
      'package.json': PACKAGE,
      'build.js': 's=require("net").createServer().listen(0,"127.0.0.1",()=>s.close())',
    },
    inputs: ['package.json', 'build.js'],
    command: [NODE, 'build.js'],
    finds: ['read /etc/resolv.conf'],
  },

  // ---- hermetic ----
  {
    name: 'bundles declared modules by hand',
    files: {
      'package.json': PACKAGE,
      'build.js':
        'fs=require("fs");fs.mkdirSync("dist",{recursive:true});fs.writeFileSync("dist/b.js",fs.readFileSync("a.js"))',
      'a.js': '1',
    },
    inputs: ['package.json', 'build.js', 'a.js'],
    outputs: ['dist'],
    command: [NODE, 'build.js'],
    finds: [],
  },
  {
    name: 'loads declared modules',
    files: { 'package.json': '{ "type": "module" }', 'src/main.js': 'import "./lib.js"', 'src/lib.js': '' },
    inputs: ['package.json', 'src/**'],
    command: [NODE, 'src/main.js'],
    finds: [],
  },
  {
    name: 'connects to its own server',
    files: {
      'package.json': PACKAGE,
      'build.js':
        'n=require("net");p=process.env.TMPDIR+"/s";s=n.createServer((c)=>c.end("x")).listen(p,()=>n.connect(p).on("close",()=>s.close()).resume())',
    },
    inputs: ['package.json', 'build.js'],
    command: [NODE, 'build.js'],
    finds: [],
  },
];
