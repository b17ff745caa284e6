// Two machines share results through a server and differ in one way. The second one must not take a result that depends on
// that way, unless docs/MACHINES.md says that Assay does not see it. It must take those that do not depend on it.
// A machine is a namespace with its own host name, mounts, workspace and store, so this needs root, as in a container of CI.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { baseEnvironment, Workshop } from '../rig/assay.ts';
import { eventsOf, type GraphRan } from '../rig/graph.ts';
import { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { BASE, type Independent, stepOf, WAYS, type Way } from './ways.ts';

const INDEPENDENT: Readonly<
  Record<Independent, { readonly command: string; readonly inputs: readonly string[] }>
> = {
  sort: { command: 'sort in.txt > "$OUT"', inputs: ['in.txt'] },
  compile: { command: 'gcc -O2 -c main.c -o "$OUT"', inputs: ['main.c'] },
  copy: { command: 'while read -r line; do echo "$line"; done < main.c > "$OUT"', inputs: ['main.c'] },
};
const ALL_INDEPENDENT: readonly Independent[] = ['sort', 'compile', 'copy'];

let shop: Workshop;
let server: ServerProcess;
let daemons: readonly Server[];
let port: string;
let first: Machine;
let onFirst: GraphRan;

class Machine {
  readonly own: string;
  readonly workspace: string;
  readonly #way: Partial<Way>;

  constructor(name: string, way: Partial<Way> = {}) {
    this.#way = way;
    this.own = join(shop.folder, 'machines', name);
    mkdirSync(this.own, { recursive: true });
    const site = join(this.own, way.at === undefined ? 'site' : dirname(dirname(way.at)));
    for (const [from, to] of [
      ['site', site],
      ['away', join(this.own, 'away')],
    ] as const)
      cpSync(join(shop.folder, 'template', from), to, { recursive: true, verbatimSymlinks: true });
    this.workspace = join(site, 'project/workspace');
  }

  /** Runs these steps; `remote` false: without the server, and with another store. */
  async run(steps: readonly string[], remote = true): Promise<GraphRan> {
    const { there = '', starter = [], env = {}, at } = this.#way;
    const [site, away] = ['site', 'away'].map((name) => join(shop.folder, name));
    const seen = at === undefined ? `${site}/project/workspace` : this.workspace;
    const script = [
      `OWN=${this.own} SITE=${site} AWAY=${away} W=${seen}`,
      'mount --bind "$OWN/away" "$AWAY"',
      at === undefined ? 'mount --bind "$OWN/site" "$SITE"' : '',
      BASE,
      there,
      'cd "$W"',
      'exec "$@"',
    ].join('\n');
    const sharing = remote ? ['--remote', server.url] : [];
    const ran = await shop.assayIn(
      ['unshare', '--mount', '--uts', 'sh', '-ec', script, 'sh', ...starter],
      [
        'run',
        '--json',
        '--keep-going',
        '--store',
        join(this.own, remote ? 'store' : 'alone'),
        ...sharing,
        ...steps,
      ],
      {
        cwd: shop.folder,
        env: {
          HOME: join(away ?? '', 'home'),
          PATH: `${away}/bin:${baseEnvironment().PATH}`,
          PORT: port,
          ...env,
        },
      },
    );
    return eventsOf(ran);
  }

  output(step: string): string | undefined {
    const file = join(this.workspace, `${step}.out`);
    return existsSync(file) ? readFileSync(file, 'latin1') : undefined;
  }

  forget(): void {
    rmSync(this.own, { recursive: true, force: true });
  }
}

function put(path: string, content: string, mode = 0o644): string {
  const file = join(shop.folder, 'template', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

const cc = (...args: string[]) => execFileSync('gcc', args, { cwd: join(shop.folder, 'template') });

/** What both machines have before they begin to differ. */
function template(): void {
  const workspace = (name: string, content: string) => put(`site/project/workspace/${name}`, content);
  workspace('package.json', '{"name": "project"}\n');
  workspace('node_modules/.bin/other', '#!/bin/sh\n');
  workspace('in.txt', 'pear\napple\nplum\n');
  workspace('main.c', '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n');
  workspace('exits.c', '#include <sysexits.h>\nint code = EX_USAGE;\n');
  workspace('optional.c', '#if __has_include(<assay-extra.h>)\nint extra = 1;\n#endif\nint x;\n');
  workspace('jobs/jobs.mk', 'all:\n\t@echo $(MAKEFLAGS)\n');
  workspace('times.mk', 'kept.o: in.txt\n\techo made > kept.o\n');
  workspace('kept.o', 'kept\n');
  workspace('undeclared.txt', 'undeclared\n');
  workspace('names/one', '');
  for (const name of ['a', 'b', 'c', 'd']) workspace(`listed/${name}`, '\n');
  mkdirSync(join(shop.folder, 'template/site/project/workspace/disk'));
  symlinkSync('in.txt', join(shop.folder, 'template/site/project/workspace/link'));
  put('site/tool.conf', 'first\n');
  put('away/tmp-file', 'first\n');
  put('away/home/settings', 'first\n');
  put('away/bin/tool', '#!/bin/sh\necho first\n', 0o755);
  for (const [folder, name] of [
    ['lib1', 'word'],
    ['lib2', 'word'],
    ['unrelated', 'other'],
  ] as const) {
    const source = put(`away/${folder}/word.c`, `const char *word(void) { return "${folder}"; }\n`);
    cc('-shared', '-fPIC', `-Wl,-soname,lib${name}.so.1`, '-o', `away/${folder}/lib${name}.so.1`, source);
  }
  const say = put(
    'away/say.c',
    '#include <stdio.h>\nconst char *word(void);\nint main(void) { return puts(word()) < 0; }\n',
  );
  cc('-o', 'site/project/workspace/say', say, 'away/lib1/libword.so.1');
  const steps = [
    ...WAYS.map((way) => [stepOf(way), { command: way.command, inputs: ['in.txt'], ...way.step }] as const),
    ...Object.entries(INDEPENDENT),
  ].map(([name, step]) => {
    const env = 'env' in step && Array.isArray(step.env) ? step.env : [];
    return [name, { ...step, outputs: [`${name}.out`], env: [`OUT=${name}.out`, ...env] }] as const;
  });
  workspace('assay.json', JSON.stringify({ steps: Object.fromEntries(steps) }));
}

/** At a path, or at a free port of the loopback. */
async function listen(path?: string): Promise<Server> {
  const daemon = createServer((socket) => socket.end('first\n'));
  daemon.listen(path === undefined ? { host: '127.0.0.1', port: 0 } : { path });
  await once(daemon, 'listening');
  return daemon;
}

beforeAll(async () => {
  shop = new Workshop();
  chmodSync(shop.folder, 0o755);
  for (const name of ['site', 'away']) shop.another(name);
  template();
  server = await ServerProcess.start(join(shop.folder, 'served'));
  first = new Machine('first');
  const [network, daemon] = [await listen(), await listen(join(first.own, 'away/daemon'))];
  daemons = [network, daemon];
  const address = network.address();
  port = typeof address === 'object' ? String(address?.port) : '';
  onFirst = await first.run([...WAYS.map(stepOf), ...ALL_INDEPENDENT]);
});

afterAll(async () => {
  for (const daemon of daemons) daemon.close();
  await server.stop();
  shop.remove();
});

const isShared = ({ fate }: Way) => fate === 'miss' || fate === 'same' || fate === 'unseen';

test('the first machine keeps every result but the unproven ones', () => {
  const kept = Object.fromEntries(WAYS.map((way) => [stepOf(way), onFirst.ends[stepOf(way)]?.published]));
  expect(kept).toEqual(Object.fromEntries(WAYS.map((way) => [stepOf(way), way.fate !== 'unproven'])));
  for (const way of WAYS.filter(({ fate }) => fate === 'unproven'))
    expect(onFirst.ends[stepOf(way)]?.notPublished, way.name).toBeTruthy();
});

test('a machine that does not differ takes every shared result, and no other', async () => {
  const { outcomes } = await new Machine('equal').run([...WAYS.map(stepOf), ...ALL_INDEPENDENT]);
  const hits = Object.keys(outcomes).filter((step) => outcomes[step] === 'hit-remote');
  expect(hits.sort()).toEqual([...WAYS.filter(isShared).map(stepOf), ...ALL_INDEPENDENT].sort());
});

/** Every eighth way, and all of them in the soak. The machine that does not differ has all. */
const TRIED = WAYS.filter((_, index) => soak(20) > 1 || index % 8 === 0);

describe.each(TRIED)('$name', (way) => {
  test(`${way.fate}, and a hit for what does not depend on it`, async () => {
    const step = stepOf(way);
    const { independent = ALL_INDEPENDENT } = way;
    const machine = new Machine(step, way);
    const here = first.output(step);
    if (way.fate === 'same' || way.fate === 'unseen') {
      const alone = await machine.run([step], false);
      expect(alone.outcomes).toEqual({ [step]: 'miss' });
      if (way.fate === 'same') expect(machine.output(step)).toBe(here);
      else expect(machine.output(step)).not.toBe(here);
      rmSync(join(machine.workspace, `${step}.out`));
    }
    const { outcomes } = await machine.run([step, ...independent]);
    expect(outcomes).toMatchObject(Object.fromEntries(independent.map((name) => [name, 'hit-remote'])));
    if (way.fate === 'same' || way.fate === 'unseen') {
      expect(outcomes[step]).toBe('hit-remote');
      expect(machine.output(step)).toBe(here);
    } else if (way.fate === 'unproven') expect(outcomes[step]).not.toMatch(/^hit/);
    else {
      expect(outcomes[step]).toBe('miss');
      if (!way.isEqual) expect(machine.output(step)).not.toBe(here);
    }
    machine.forget();
  });
});

test('`assay reproduce` finds the ways that are not seen', async () => {
  const unseen = WAYS.filter(({ foundAs }) => foundAs !== undefined);
  const lines = unseen.map((way) => `OUT=${stepOf(way)}.out; ${way.command}`);
  const outputs = unseen.flatMap((way) => ['--output', `${stepOf(way)}.out`]);
  const inputs = ['in.txt', 'jobs/jobs.mk', 'listed/**'].flatMap((name) => ['--input', name]);
  const command = ['--', 'sh', '-c', lines.join('\n')];
  const { stdout } = await shop.assay(['reproduce', '--json', ...inputs, ...outputs, ...command], {
    cwd: first.workspace,
  });
  const kinds = JSON.parse(stdout).findings.map(({ kind }: { kind: string }) => kind);
  expect([...new Set(kinds)].sort()).toEqual([...new Set(unseen.map(({ foundAs }) => foundAs))].sort());
});
