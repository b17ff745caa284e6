// Random edits of a workspace between two runs. After each run the outputs equal those of a clean build.
// This exercises every cached state of the client: stat index, scans, hits, actions, graphs.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Form, Workshop } from '../rig/assay.ts';
import { runSteps } from '../rig/graph.ts';
import { Random } from '../rig/random.ts';
import { soak } from '../rig/soak.ts';

const EDITS = soak(60, 6);
/** Longer than the mtime granularity that the client assumes, so that some files are old enough to trust. */
const LONG_ENOUGH_MS = 130;

/** One file always stays, because a pattern without a match is refused. */
const KEPT = 'src/kept';

/** Every name, type, mode and content below the folders. */
const LIST = [
  'for top in "$@"; do test -e "$top" || continue; find "$top" | LC_ALL=C sort; done | while read -r name; do',
  '  if [ -L "$name" ]; then echo "$name -> $(readlink "$name")"',
  '  elif [ -d "$name" ]; then echo "$name/"',
  '  else test -x "$name" && echo "$name*"; echo "$name: $(cat "$name")"; fi',
  'done',
];

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.script('list', ...LIST);
  declare('');
  for (const name of [KEPT, 'src/a', 'src/b/c', 'src/b/d/e']) shop.write(name, name);
});
afterEach(() => shop.remove());

/** `word`: what the second step appends. */
function declare(word: string): void {
  const steps = {
    first: {
      command: 'mkdir -p out/first && ./list src > out/first/list && echo "$MODE" > out/first/mode',
      inputs: ['list', 'src/**'],
      outputs: ['out/first'],
      env: ['MODE'],
    },
    second: {
      command: `./list out/first maybe/*.txt > out-second; echo "${word}" >> out-second`,
      inputs: ['list'],
      optionalInputs: ['maybe/*.txt'],
      outputs: ['out-second'],
      dependsOn: ['first'],
    },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
}

test.each<[Form, number]>([
  ['bundle', 1],
  ['bundle', 2],
  ['executable', 3],
])(
  '%s: after each of many edits the outputs are right (seed %i)',
  { timeout: 240_000 },
  async (form, seed) => {
    const random = new Random(seed);
    const edits = new Edits(shop.workspace, random);
    const outcomes = new Set<string>();
    const done: string[] = [];
    let mode = 'one';
    let word = '';
    for (let edit = 0; edit < EDITS; edit++) {
      if (random.below(12) === 0) mode = random.pick(['one', 'two']);
      for (let count = random.below(3); count > 0; count--) done.push(edits.one());
      if (random.below(8) === 0) {
        word = String(random.below(3));
        declare(word);
        done.push(`declare ${word}`);
      }
      if (random.below(2) === 0) await sleep(LONG_ENOUGH_MS);
      const step = random.below(4) === 0 ? 'first' : 'second';
      const ran = await runSteps(shop, [step], { form, env: { MODE: mode } });
      expect(ran.code, `${done.slice(-8).join('; ')}\n${ran.stderr}`).toBe(0);
      for (const { outcome, reason } of Object.values(ran.ends)) outcomes.add(`${outcome}: ${reason ?? ''}`);
      if (step === 'second') expect(outputs(), done.slice(-8).join('; ')).toEqual(expected(mode, word));
      done.push(`run ${step} (${Object.values(ran.outcomes).join(', ')})`);
    }
    const kinds = new Set([...outcomes].map((text) => text.split(':')[0]));
    expect([...kinds].sort()).toEqual(['hit-local', 'miss']);
  },
);

const read = (name: string) => readFileSync(join(shop.workspace, name), 'utf8');

function outputs(): Readonly<Record<string, string>> {
  return { list: read('out/first/list'), mode: read('out/first/mode'), second: read('out-second') };
}

/** The expected outputs: the script itself, run on the current files. */
function expected(mode: string, word: string): Readonly<Record<string, string>> {
  const list = (tops: string) =>
    execFileSync('sh', ['-c', `./list ${tops}`], { cwd: shop.workspace, encoding: 'utf8' });
  return { list: list('src'), mode: `${mode}\n`, second: `${list('out/first maybe/*.txt')}${word}\n` };
}

/** The edits; each returns a description of what it did. */
class Edits {
  readonly #workspace: string;
  readonly #random: Random;

  constructor(workspace: string, random: Random) {
    this.#workspace = workspace;
    this.#random = random;
  }

  one(): string {
    const edit = this.#random.pick([
      () => this.#write(),
      () => this.#write(),
      () => this.#writeUnseen(),
      () => this.#permit(),
      () => this.#move(),
      () => this.#remove(),
      () => this.#makeFolder(),
      () => this.#link(),
      () => this.#touch(),
      () => this.#optional(),
      () => this.#spoilOutput(),
      () => this.#removeOutput(),
    ]);
    return edit();
  }

  #path(name: string): string {
    return join(this.#workspace, name);
  }

  /** True for a link too, even if its target does not exist. */
  #at(name: string): ReturnType<typeof lstatSync> {
    return lstatSync(this.#path(name), { throwIfNoEntry: false });
  }

  #newName(): string {
    const folder = this.#random.pick(['src', ...this.#names((stats) => stats.isDirectory())]);
    return `${folder}/n${this.#random.below(6)}`;
  }

  /** Entries below src of one type. */
  #names(isMeant: (stats: ReturnType<typeof lstatSync> & object) => boolean): string[] {
    const all = readdirSync(this.#path('src'), { recursive: true, encoding: 'utf8' });
    const names = all.map((name) => `src/${name}`).filter((name) => name !== KEPT);
    return names.filter((name) => isMeant(lstatSync(this.#path(name))));
  }

  #file(): string | undefined {
    const files = this.#names((stats) => stats.isFile());
    return files.length > 0 ? this.#random.pick(files) : undefined;
  }

  #write(): string {
    const name = this.#random.below(2) === 0 ? (this.#file() ?? 'src/a') : this.#newName();
    const found = this.#at(name);
    if (found && !found.isFile()) return 'nothing';
    if (found && this.#random.below(2) === 0) rmSync(this.#path(name));
    writeFileSync(this.#path(name), String(this.#random.below(100)));
    return `write ${name}`;
  }

  /** Different content with the same size and mtime. */
  #writeUnseen(): string {
    const name = this.#file();
    if (!name) return 'nothing';
    const { atime, mtime, size } = lstatSync(this.#path(name));
    writeFileSync(this.#path(name), String(this.#random.below(10)).repeat(size));
    utimesSync(this.#path(name), atime, mtime);
    return `write ${name} and set its time back`;
  }

  #permit(): string {
    const name = this.#file();
    if (!name) return 'nothing';
    const mode = this.#random.pick([0o644, 0o755]);
    chmodSync(this.#path(name), mode);
    return `chmod ${mode.toString(8)} ${name}`;
  }

  #move(): string {
    const names = this.#names(() => true);
    if (names.length === 0) return 'nothing';
    const [from, to] = [this.#random.pick(names), this.#newName()];
    if (this.#at(to) || to.startsWith(`${from}/`)) return 'nothing';
    renameSync(this.#path(from), this.#path(to));
    return `move ${from} to ${to}`;
  }

  #remove(): string {
    const names = this.#names(() => true);
    if (names.length < 4) return 'nothing';
    const name = this.#random.pick(names);
    rmSync(this.#path(name), { recursive: true });
    return `remove ${name}`;
  }

  #makeFolder(): string {
    const name = this.#newName();
    if (this.#at(name)) return 'nothing';
    mkdirSync(this.#path(name));
    return `mkdir ${name}`;
  }

  #link(): string {
    const name = this.#newName();
    if (this.#at(name)) return 'nothing';
    symlinkSync(this.#random.pick(['a', 'nowhere']), this.#path(name));
    return `link ${name}`;
  }

  #touch(): string {
    const name = this.#random.pick(['src', 'assay.json', this.#file() ?? 'src']);
    const time = Date.now() / 1000 - this.#random.below(1000);
    utimesSync(this.#path(name), time, time);
    return `touch ${name}`;
  }

  #optional(): string {
    const name = this.#path(`maybe/o${this.#random.below(2)}.txt`);
    if (existsSync(name)) {
      rmSync(this.#random.pick([name, this.#path('maybe')]), { recursive: true });
      return 'remove something optional';
    }
    mkdirSync(this.#path('maybe'), { recursive: true });
    writeFileSync(name, String(this.#random.below(100)));
    return 'write something optional';
  }

  #spoilOutput(): string {
    const name = this.#random.pick(['out/first/list', 'out/first/stray', 'out-second']);
    if (!existsSync(dirname(this.#path(name)))) return 'nothing';
    writeFileSync(this.#path(name), 'spoilt');
    return `spoil ${name}`;
  }

  #removeOutput(): string {
    const name = this.#random.pick(['out', 'out/first', 'out/first/mode', 'out-second']);
    rmSync(this.#path(name), { recursive: true, force: true });
    return `remove ${name}`;
  }
}
