// The usual commands of projects without scripts or a Makefile, chosen by the files of their build tool.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface UsualCommand {
  readonly name: string;
  readonly command: readonly [string, ...string[]] | string;
  readonly env?: readonly string[];
}

interface Language {
  /** One of these files exists. */
  readonly files: readonly string[];
  commands(folder: string): readonly UsualCommand[];
}

const LANGUAGES: readonly Language[] = [
  {
    files: ['go.mod'],
    commands: () => [
      { name: 'build', command: ['go', 'build', './...'] },
      { name: 'lint', command: ['go', 'vet', './...'] },
      { name: 'test', command: ['go', 'test', './...'] },
    ],
  },
  {
    files: ['Cargo.toml'],
    // Both would write to `target`, and only one step may own it.
    commands: () => [
      { name: 'build', command: ['cargo', 'build', '--locked'] },
      { name: 'test', command: 'cargo test --locked --target-dir "$TMPDIR/target"' },
    ],
  },
  {
    files: ['settings.gradle', 'settings.gradle.kts', 'build.gradle', 'build.gradle.kts'],
    // A daemon would outlive the step.
    commands: (folder) => {
      const gradle = existsSync(join(folder, 'gradlew')) ? './gradlew' : 'gradle';
      return [{ name: 'build', command: [gradle, '--no-daemon', '--console=plain', 'build'] }];
    },
  },
  {
    files: ['pyproject.toml', 'setup.py', 'setup.cfg', 'pytest.ini', 'tox.ini', 'requirements.txt'],
    // Bytecode files depend on file times.
    commands: (folder) => {
      const test = usesPytest(folder)
        ? (['python3', '-m', 'pytest', '-p', 'no:cacheprovider'] as const)
        : (['python3', '-m', 'unittest', 'discover'] as const);
      return [{ name: 'test', command: test, env: ['PYTHONDONTWRITEBYTECODE=1'] }];
    },
  },
];

export function usualCommands(folder: string): UsualCommand[] {
  const found = new Map<string, UsualCommand>();
  for (const { files, commands } of LANGUAGES) {
    if (!files.some((file) => existsSync(join(folder, file)))) continue;
    for (const one of commands(folder)) if (!found.has(one.name)) found.set(one.name, one);
  }
  return [...found.values()];
}

const PYTHON_FILES = ['pyproject.toml', 'setup.cfg', 'tox.ini', 'requirements.txt', 'requirements-dev.txt'];

function usesPytest(folder: string): boolean {
  if (['pytest.ini', 'conftest.py', 'tests/conftest.py'].some((file) => existsSync(join(folder, file))))
    return true;
  return PYTHON_FILES.map((file) => join(folder, file)).some(
    (file) => existsSync(file) && /\bpytest\b/.test(readFileSync(file, 'utf8')),
  );
}
