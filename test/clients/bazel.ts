// Debian's Bazel in a separate workspace with three actions: built cold, cleaned, and built again.
// The tests read Bazel's own output, because only Bazel knows whether it ran an action.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { baseEnvironment, type Ran, runProcess } from '../rig/assay.ts';

const BUILD_FILE = String.raw`
genrule(name = "upper", srcs = ["input.txt"], outs = ["upper.txt", "made.txt"],
  cmd = "tr a-z A-Z < $< > $(location upper.txt) && cat /proc/sys/kernel/random/uuid > $(location made.txt)")
genrule(name = "twice", srcs = ["upper.txt"], outs = ["twice.txt"], cmd = "cat $< $< > $@")
genrule(name = "large", outs = ["large.bin"], cmd = "head -c 3000000 /dev/zero | tr '\\0' x > $@")
`;
const OUTPUTS = ['upper.txt', 'twice.txt', 'large.bin'] as const;

export const EXPECTED_OUTPUTS = ['SOME WORDS\n', 'SOME WORDS\nSOME WORDS\n', 'x'.repeat(3_000_000)];

export interface Built {
  readonly said: string;
  readonly outputs: readonly string[];
  /** Another one for each execution. */
  readonly made: string;
}

export class BazelWorkspace {
  readonly folder = mkdtempSync(join(tmpdir(), 'assay-bazel-'));
  readonly #workspace = join(this.folder, 'workspace');

  constructor() {
    if (!existsSync('/usr/bin/bazel'))
      throw new Error('no Bazel: install the Debian package bazel-bootstrap');
    mkdirSync(this.#workspace);
    writeFileSync(join(this.#workspace, 'WORKSPACE'), '');
    writeFileSync(join(this.#workspace, 'BUILD'), BUILD_FILE);
    this.write('some words\n');
  }

  write(words: string): void {
    writeFileSync(join(this.#workspace, 'input.txt'), words);
  }

  async remove(): Promise<void> {
    await this.bazel('shutdown');
    rmSync(this.folder, { recursive: true, force: true });
  }

  async coldAndWarm(remote: string, ...flags: readonly string[]): Promise<{ cold: Built; warm: Built }> {
    await this.bazel('clean');
    const cold = await this.build(remote, ...flags);
    await this.bazel('clean');
    return { cold, warm: await this.build(remote, ...flags) };
  }

  async build(remote: string, ...flags: readonly string[]): Promise<Built> {
    const local = '--spawn_strategy=local';
    const { stderr } = await this.bazel('build', `--remote_cache=${remote}`, local, ...flags, '//:all');
    const read = (name: string) => readFileSync(join(this.#workspace, 'bazel-bin', name), 'utf8');
    return { said: stderr, outputs: OUTPUTS.map(read), made: read('made.txt') };
  }

  /** Bazel's server ends on its own if this process dies before stopping it. */
  async bazel(command: string, ...args: readonly string[]): Promise<Ran> {
    const startup = ['--nohome_rc', `--output_user_root=${join(this.folder, 'bazel')}`, '--max_idle_secs=60'];
    const plain = command === 'shutdown' ? [] : ['--color=no', '--curses=no'];
    const ran = await runProcess(['/usr/bin/bazel', ...startup, command, ...plain, ...args], {
      cwd: this.#workspace,
      env: baseEnvironment(),
    });
    if (ran.code !== 0) throw new Error(`bazel ${command} ended with ${ran.code}:\n${ran.stderr}`);
    return ran;
  }
}
