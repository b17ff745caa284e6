// Clones of a Python project, each with a virtual environment of its own, as a team has them. Packages come from
// wheels that are made here: nothing is fetched.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type RanWithSummary, Workshop } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';

export const PYTHON = '/usr/bin/python3';
export const SITE = '.venv/lib/python3.11/site-packages';

/** A package with a command, and a plugin of pytest that asks git. */
const WHEEL = {
  'sayer/__init__.py': 'from sayer.words import WORD\n',
  'sayer/words.py': 'WORD = "one"\n',
  'sayer/main.py': 'from sayer import WORD\n\n\ndef main():\n    print(WORD)\n',
  'sayer/plugin.py': [
    'import subprocess',
    '',
    '',
    'def git(*words):',
    '    return subprocess.run(["git", *words], capture_output=True, text=True).stdout.strip()',
    '',
    '',
    'def pytest_report_header():',
    '    return [git("rev-parse", "HEAD"), git("describe", "--always"), git("log", "-1", "--format=%s")]',
    '',
  ].join('\n'),
  'sayer-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: sayer\nVersion: 1.0\n',
  'sayer-1.0.dist-info/WHEEL':
    'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  'sayer-1.0.dist-info/entry_points.txt':
    '[console_scripts]\nsay = sayer.main:main\n\n[pytest11]\nsayer = sayer.plugin\n',
  'sayer-1.0.dist-info/RECORD': '',
};

const PACK = [
  'import json, sys, zipfile',
  'with zipfile.ZipFile(sys.argv[1], "w") as wheel:',
  '    for name, text in json.loads(sys.argv[2]).items():',
  '        wheel.writestr(zipfile.ZipInfo(name), text)',
].join('\n');

/** An editable installation without a build tool: the project is its own backend. */
const BACKEND = [
  'import os, zipfile',
  '',
  '',
  'def build_editable(folder, config_settings=None, metadata_directory=None):',
  '    with zipfile.ZipFile(os.path.join(folder, "acme-1.0-py3-none-any.whl"), "w") as wheel:',
  '        wheel.writestr("_acme.pth", os.path.join(os.getcwd(), "src") + "\\n")',
  '        info = "acme-1.0.dist-info/"',
  '        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: acme\\nVersion: 1.0\\n")',
  '        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")',
  '        wheel.writestr(info + "entry_points.txt", "[console_scripts]\\nacme = acme.main:main\\n")',
  '        wheel.writestr(info + "RECORD", "")',
  '    return "acme-1.0-py3-none-any.whl"',
  '',
].join('\n');

export const PROJECT: Readonly<Record<string, string>> = {
  'pyproject.toml': [
    '[build-system]',
    'requires = []',
    'build-backend = "backend"',
    'backend-path = ["."]',
    '[project]',
    'name = "acme"',
    'version = "1.0"',
    '[tool.pytest.ini_options]',
    'testpaths = ["tests"]',
    '',
  ].join('\n'),
  'backend.py': BACKEND,
  'noxfile.py': [
    'import nox',
    '',
    '',
    '@nox.session(venv_backend="none")',
    'def tests(session):',
    '    session.run(".venv/bin/python", "-m", "pytest", "-p", "no:cacheprovider")',
    '',
  ].join('\n'),
  'tox.ini': [
    '[tox]',
    'envlist = checks',
    'skipsdist = true',
    '[testenv]',
    'sitepackages = true',
    'passenv =',
    '    PYTHONDONTWRITEBYTECODE',
    '    PYTHONPYCACHEPREFIX',
    'commands = python -m pytest -p no:cacheprovider tests/test_plain.py',
    '',
  ].join('\n'),
  'src/acme/__init__.py': '',
  'src/acme/main.py': 'from sayer import WORD\n\n\ndef main():\n    print("acme", WORD)\n',
  'tests/test_main.py': 'from acme.main import WORD\n\n\ndef test_word():\n    assert WORD\n',
  'tests/test_plain.py': 'def test_plain():\n    assert True\n',
  '.gitignore':
    '.venv/\n.tox/\n.nox/\n__pycache__/\n.pytest_cache/\n.mypy_cache/\nbuild/\n*.egg-info/\nout\n',
};

export class PythonClones {
  readonly shop: Workshop;
  readonly #server: ServerProcess;

  private constructor(server: ServerProcess, shop: Workshop) {
    this.#server = server;
    this.shop = shop;
  }

  static async start(): Promise<PythonClones> {
    const shop = new Workshop();
    const clones = new PythonClones(await ServerProcess.start(join(shop.folder, 'served')), shop);
    for (const [name, text] of Object.entries(PROJECT)) shop.write(name, text);
    clones.git(shop.workspace, 'init', '-q');
    clones.commit(shop.workspace, 'one');
    clones.wheel('sayer-1.0-py3-none-any.whl', WHEEL);
    return clones;
  }

  async end(): Promise<void> {
    await this.#server.stop();
    this.shop.remove();
  }

  wheel(name: string, files: Readonly<Record<string, string>>): string {
    const wheel = join(this.shop.folder, name);
    execFileSync(PYTHON, ['-I', '-c', PACK, wheel, JSON.stringify(files)]);
    return wheel;
  }

  git(folder: string, ...words: readonly string[]): string {
    const by = ['-c', 'user.name=t', '-c', 'user.email=t@t', '-C', folder];
    return execFileSync('git', [...by, ...words], { encoding: 'utf8', stdio: 'pipe' });
  }

  commit(folder: string, message: string): void {
    this.git(folder, 'add', '-A');
    this.git(folder, 'commit', '-qm', message);
  }

  /** A fresh clone at `path`, which replaces what was there, with an environment that pip made. */
  clone(path: string, packages: readonly string[] = ['sayer-1.0-py3-none-any.whl']): string {
    const folder = join(this.shop.folder, path);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, '..'), { recursive: true });
    this.git(this.shop.folder, 'clone', '-q', this.shop.workspace, folder);
    execFileSync(PYTHON, ['-m', 'venv', '--system-site-packages', '--without-pip', '.venv'], { cwd: folder });
    this.pip(folder, ...packages.map((name) => join(this.shop.folder, name)));
    this.pip(folder, '--no-build-isolation', '--editable', '.');
    return folder;
  }

  /** tox makes the environment before the first run, as a person or the set-up of a CI job does. */
  tox(folder: string): void {
    execFileSync('tox', ['--notest'], { cwd: folder, stdio: 'pipe' });
  }

  pip(folder: string, ...words: readonly string[]): void {
    const pip = [PYTHON, '-m', 'pip', '--python', '.venv/bin/python', '-q', '--disable-pip-version-check'];
    const [program = '', ...rest] = [...pip, 'install', '--no-index', '--no-deps', ...words];
    execFileSync(program, rest, { cwd: folder, stdio: 'pipe' });
  }

  /** As an installer does. */
  compile(folder: string, module: string): void {
    execFileSync('.venv/bin/python', ['-m', 'py_compile', module], { cwd: folder });
  }

  /** On a machine of its own: an empty store, unless the name is known. */
  run(
    machine: string,
    folder: string,
    flags: readonly string[],
    ...command: string[]
  ): Promise<RanWithSummary> {
    const where = ['--store', join(this.shop.folder, `store-${machine}`), '--remote', this.#server.url];
    const declared = ['src/**/*.py', 'tests/**/*.py', 'pyproject.toml'].flatMap((one) => ['--input', one]);
    return this.shop.run([...where, '--no-report', ...declared, ...flags, '--', ...command], { cwd: folder });
  }
}
