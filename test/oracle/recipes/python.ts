// Python: modules that shadow others, optional modules, plugins, and listings by a script itself.
import { type Cook, PYTHON_GATE, type Recipe, versions } from './recipe.ts';

const INPUTS: Recipe['inputs'] = [
  ['py/*.py'],
  ['py/**/*.py'],
  ['py'],
  ['py/**', '!py/*_settings.py'],
  ['**'],
  [],
];

/** A script says its result into a file: standard output tells its gates. */
const START = [
  'import os, sys',
  'here = os.path.dirname(os.path.abspath(__file__))',
  'out = open("py.txt", "w")',
  'def say(*words): print(*words, file=out)',
];

interface Script {
  readonly name: string;
  readonly lines: readonly string[];
  readonly tempting: Readonly<Record<string, string>>;
  /** Modules that the script has beside those of all scripts. */
  readonly modules?: readonly string[];
}

const says = (word: string) => `word = "${word}"\n`;

const SCRIPTS: readonly Script[] = [
  {
    name: 'standard library',
    lines: ['import colorsys', 'import helper', 'say(helper.word, getattr(colorsys, "word", "standard"))'],
    tempting: {
      'py/colorsys.py': says('shadow'),
      'py/helper/__init__.py': says('package'),
      'py/notes.txt': 'notes\n',
    },
  },
  {
    name: 'optional modules',
    lines: [
      'import helper',
      'for name in ["optional", "local_settings"]:',
      '    try: say(__import__(name).word)',
      '    except ImportError: say("no", name)',
    ],
    tempting: { 'py/optional.py': says('optional'), 'py/local_settings.py': says('local') },
  },
  {
    name: 'path entry',
    lines: ['sys.path.insert(0, os.path.join(here, "vendor"))', 'import helper', 'say(helper.word)'],
    modules: ['py/vendor/other.py'],
    tempting: { 'py/vendor/helper.py': says('vendored'), 'py/vendor/helper.txt': 'no module\n' },
  },
  {
    name: 'plugins',
    lines: [
      'import importlib.util',
      'for name in sorted(os.listdir(os.path.join(here, "plugins"))):',
      '    if not name.endswith(".py"): continue',
      '    spec = importlib.util.spec_from_file_location(name[:-3], os.path.join(here, "plugins", name))',
      '    module = importlib.util.module_from_spec(spec)',
      '    spec.loader.exec_module(module)',
      '    say(module.word)',
    ],
    tempting: { 'py/plugins/second.py': says('second'), 'py/plugins/second.txt': 'no plugin\n' },
  },
  {
    name: 'data files',
    lines: ['import helper', 'for name in sorted(os.listdir(os.path.join(here, "plugins"))): say(name)'],
    tempting: { 'py/plugins/data.txt': 'data\n', 'py/plugins/second.py': says('second') },
  },
  {
    name: 'walk',
    lines: [
      'for folder, folders, files in sorted(os.walk(here)):',
      '    say(os.path.relpath(folder, here), sorted(folders), sorted(files))',
    ],
    tempting: { 'py/new.txt': 'new\n', 'py/plugins/deep/new.txt': 'new\n' },
  },
  {
    name: 'own folder',
    lines: ['say(sorted(os.listdir(here)))'],
    tempting: { 'py/data.txt': 'data\n', 'py/.hidden': 'hidden\n' },
  },
];

export const python: Cook = (random, isGated) => {
  const { name, lines, tempting, modules = [] } = random.pick(SCRIPTS);
  const wait = isGated ? ['gate()'] : [];
  const main = (word: string) => [
    ...(isGated ? [PYTHON_GATE] : []),
    ...START,
    ...wait,
    ...lines,
    ...wait,
    `say("${word}")`,
    '',
  ];
  return {
    name: `python: ${name}`,
    files: {
      'py/main.py': versions((word) => main(word).join('\n')),
      'py/helper.py': versions(says),
      'py/plugins/first.py': versions(says),
      ...Object.fromEntries(modules.map((path) => [path, versions(says)])),
    },
    tempting: { ...tempting, 'README.md': 'read me\n' },
    parts: ['/usr/bin/python3 py/main.py'],
    argv: ['/usr/bin/python3', 'py/main.py'],
    inputs: INPUTS,
    outputs: ['py.txt'],
    ignored: 'local_settings.py\n__pycache__/\n',
    ownGates: isGated ? 2 : 0,
  };
};
