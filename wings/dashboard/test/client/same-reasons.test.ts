// Seeded changes of one project, run on a warm machine and on an empty one against the same server: the same reason
// in all. `npm test` makes a twentieth of them.
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StepEnd } from '../../../../client/view/events.ts';
import { Workshop } from '../../../../test/rig/assay.ts';
import { runSteps } from '../../../../test/rig/graph.ts';
import { Random } from '../../../../test/rig/random.ts';
import { soak } from '../../../../test/rig/soak.ts';
import { identity, sourceOf } from '../../../../test/server/access/identities.ts';
import { testServer } from '../rig.ts';

const CHANGES = soak(100);
const SEED = 39;

const TEAM = identity('team', { namespace: 'acme' });
const READER = identity('reader', { namespace: 'acme', rights: 'read' });

test(`${CHANGES} changes with seed ${SEED} have one reason on a warm machine and on an empty one`, async () => {
  const server = await testServer({ identities: sourceOf(TEAM, READER) });
  const project = new Project(new Random(SEED));
  try {
    let before = await project.runWarm(server.url);
    let compared = 0;
    /* On a crowded machine a report may come too late to be taken. Then the server can't know the run before. */
    for (let count = 1; compared < CHANGES; count++) {
      if (count > 2 * CHANGES + 10) throw new Error('most reports came too late');
      const what = project.change(count);
      const empty = await project.runEmpty(server.url, count);
      const warm = await project.runWarm(server.url);
      if (before.isReported) {
        expect({ count, what, ...empty.told }).toEqual({ count, what, ...warm.told });
        expect(warm.told.cause?.kind).not.toBe('first-run');
        compared++;
      }
      before = warm;
    }
  } finally {
    project.remove();
  }
}, 3_600_000);

interface OneRun {
  readonly told: Partial<Pick<StepEnd, 'reason' | 'cause'>>;
  readonly isReported: boolean;
}

/** No state comes twice, so no run is a hit. */
class Project {
  readonly #shop = new Workshop();
  readonly #random: Random;
  readonly #variables = new Map([['LEVEL', '0']]);
  readonly #tools = new Set<string>();
  readonly #files = ['src/a.txt', 'src/b.txt', 'src/deep/er/c.txt'];
  #command = 'cat ../shared/fact.txt src/a.txt > "$OUT"';
  #output = 'out.txt';
  #fails = false;

  constructor(random: Random) {
    this.#random = random;
    this.#write('../shared/fact.txt', 'fact 0');
    for (const file of this.#files) this.#write(file, 'text 0');
    this.#declare();
  }

  remove(): void {
    this.#shop.remove();
  }

  /** Changes one thing, or two. */
  change(count: number): string {
    if (this.#fails && this.#random.below(2) === 0) return 'nothing, after a failure';
    if (this.#fails) rmSync(join(this.#shop.workspace, 'src/fails.txt'));
    const repaired = this.#fails;
    this.#fails = false;
    const one = this.#random.pick(Object.keys(this.#changes));
    this.#changes[one]?.(count);
    const two = this.#random.below(4) === 0 ? this.#random.pick(['an input', 'a variable']) : undefined;
    if (two !== undefined) this.#changes[two]?.(count + 0.5);
    this.#declare();
    return [repaired ? 'a repair' : '', one, two].filter(Boolean).join(' and ');
  }

  readonly #changes: Readonly<Record<string, (count: number) => void>> = {
    'an input': (count) => this.#write(this.#random.pick(this.#files), `text ${count}`),
    'a new input': (count) => {
      const file = this.#random.pick([`src/new-${count}.txt`, `src/folder-${count}/file.txt`]);
      this.#files.push(file);
      this.#write(file, 'new');
    },
    'a removed input': (count) => {
      const [file] = this.#files.splice(this.#random.below(this.#files.length - 1) + 1, 1);
      if (file !== undefined) rmSync(join(this.#shop.workspace, file));
      this.#write('src/a.txt', `text ${count}`);
    },
    'a mode': (count) => this.#write('src/a.txt', `text ${count}`, 0o755),
    'a variable': (count) => this.#variables.set('LEVEL', `${count}`),
    'a new variable': (count) => this.#variables.set(`VARIABLE_${count}`, `${count}`),
    'a command': (count) => {
      this.#command = `: ${count} && cat ../shared/fact.txt src/a.txt > "$OUT"`;
    },
    'a tool': (count) => {
      const tool = this.#random.pick(['wc', 'tr', 'sort', 'head', 'tail']);
      if (!this.#tools.delete(tool)) this.#tools.add(tool);
      this.#write('src/a.txt', `text ${count}`);
    },
    'an output': (count) => {
      this.#output = `out-${count}.txt`;
    },
    'a fact': (count) => this.#write('../shared/fact.txt', `fact ${count}`),
    'a failure': (count) => {
      this.#fails = true;
      this.#write('src/fails.txt', `${count}`);
    },
  };

  #write(path: string, content: string, mode?: number): void {
    this.#shop.write(path, content, mode);
  }

  #declare(): void {
    const copy = {
      command: `test ! -e src/fails.txt && ${this.#command}`,
      inputs: ['src/**'],
      outputs: [this.#output],
      env: [...this.#variables.keys(), `OUT=${this.#output}`],
      ...(this.#tools.size > 0 && { tools: [...this.#tools].sort() }),
    };
    this.#write('assay.json', JSON.stringify({ steps: { copy } }));
  }

  async runWarm(remote: string): Promise<OneRun> {
    return this.#run(remote, 'team', this.#shop.workspace, this.#shop.store);
  }

  /** In a clone at another path, with an empty store. Its token reads. */
  async runEmpty(remote: string, count: number): Promise<OneRun> {
    const folder = join(this.#shop.folder, `runner-${count}`);
    const clone = join(folder, 'workspace');
    mkdirSync(folder);
    cpSync(join(this.#shop.folder, 'shared'), join(folder, 'shared'), { recursive: true });
    cpSync(this.#shop.workspace, clone, { recursive: true });
    rmSync(join(clone, this.#output), { force: true });
    const end = await this.#run(remote, 'reader', clone, join(folder, 'store'));
    rmSync(folder, { recursive: true });
    return end;
  }

  async #run(remote: string, token: string, cwd: string, store: string): Promise<OneRun> {
    const env = {
      ...Object.fromEntries(this.#variables),
      ...{ ASSAY_REMOTE: remote, ASSAY_TOKEN: token, ASSAY_STORE: store },
    };
    const { ends, stderr } = await runSteps(this.#shop, ['copy'], { cwd, env });
    const { reason, cause } = ends.copy ?? {};
    const told = { ...(reason !== undefined && { reason }), ...(cause && { cause }) };
    return { told, isReported: /\/runs\/[0-9a-f]{32}/.test(stderr) };
  }
}
