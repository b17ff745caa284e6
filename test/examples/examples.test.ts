// Runs every example as a person does: in a checkout, by `./run.sh`, with the system's PATH and Node.
// Each ends as its README promises and leaves the checkout unchanged. Without assay it reports that at once.
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { differenceText } from '../../store/actions/miss-text.ts';
import { FIRST_RUN } from '../client/run/misses.ts';
import { DEFAULT_FORM, FORMS, type Ran, runProcess, Workshop } from '../rig/assay.ts';
import { soak } from '../rig/soak.ts';

const PROJECT = join(import.meta.dirname, '..', '..');
const EXAMPLES = join(PROJECT, 'examples');
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    cwd: shop.workspace,
    encoding: 'utf8',
  });

/** The examples are copies, so that they can be written to; everything else is the project itself. */
function makeCheckout(): void {
  for (const name of readdirSync(PROJECT)) {
    if (name !== 'examples' && !name.startsWith('.git'))
      symlinkSync(realpathSync(join(PROJECT, name)), join(shop.workspace, name));
  }
  cpSync(join(PROJECT, '.gitignore'), join(shop.workspace, '.gitignore'));
  cpSync(EXAMPLES, join(shop.workspace, 'examples'), { recursive: true });
  git('init', '--quiet');
  git('add', '.gitignore', 'examples');
  git('commit', '--quiet', '--message', 'a checkout');
}

function runExample(folder: string, ASSAY?: string): Promise<Ran> {
  const own = { PATH: SYSTEM_PATH, HOME: shop.folder, ASSAY_STORE: shop.store, ROUNDS: String(ROUNDS) };
  const env = { ...own, ...(ASSAY !== undefined && { ASSAY }) };
  return runProcess([join(folder, 'run.sh')], { cwd: '/', env });
}

const outcomes = ({ stderr }: Ran) =>
  [...stderr.matchAll(/^assay: (hit \(\w+\)|miss)/gm)].map(([, outcome]) => outcome);

/** The misses and hits of the Bazel worker, from its log. */
const workerOutcomes = ({ stdout }: Ran) =>
  [...stdout.matchAll(/^assay: (hit-local|miss)/gm)].map(([, outcome]) => outcome);

const CHECKS: Readonly<Record<string, (ran: Ran) => void>> = {
  agent: ({ stdout }) => {
    const [first = '', again = ''] = stdout.split('== started again');
    expect(first.match(/^(?:decision \d|build): \S+$/gm)).toEqual([
      ...['decision 1: miss', 'build: miss', 'decision 2: miss', 'build: miss'],
    ]);
    expect(again.match(/^(?:decision \d|build): \S+$/gm)).toEqual([
      ...['decision 1: hit-local', 'build: hit-local', 'decision 2: hit-local', 'build: hit-local'],
    ]);
    for (const said of [first, again]) {
      expect(said).toContain('the check failed; rolled back');
      expect(said).toContain('done, because the check wants an exclamation mark: HELLO, WORLD!');
    }
  },
  'bazel-worker': (ran) => {
    expect(workerOutcomes(ran)).toEqual(['miss', 'miss', 'hit-local', 'hit-local', 'miss']);
    expect(ran.stdout).toContain('words/hello.txt changed');
    expect(ran.stderr.match(/shouted 4 words/g)).toHaveLength(2);
    expect(ran.stdout.match(/GOOD BYE AND THANKS/g)).toHaveLength(3);
    expect(ran.stdout).toContain('A WORD MORE');
  },
  bundles: (ran) => {
    const [container = '', server = '', machine = ''] = ran.stdout.split(/^== .*\n/m).slice(1);
    expect(container).toContain('assay import: 2 results');
    expect(server).toContain('assay import: 2 results');
    expect(ran.stderr.match(/2 steps: 2 hit/g)).toHaveLength(2);
    expect(ran.stderr).toContain('(0 local, 2 remote)');
    const [, begun] = /begins after (\d+)$/m.exec(machine) ?? [];
    expect(Number(begun)).toBeGreaterThanOrEqual(2);
    expect(machine).not.toContain('counted 1\n');
  },
  'c-make': (ran) => {
    const [first, again, header] = [
      outcomes(ran).slice(0, 3),
      outcomes(ran).slice(3, 6),
      outcomes(ran).slice(6),
    ];
    expect(first).toEqual(['miss', 'miss', 'miss']);
    expect(again).toEqual(['hit (local)', 'hit (local)', 'hit (local)']);
    expect(header).toEqual(['miss', 'miss', 'miss']);
    expect(ran.stdout).toContain('hello, world\n');
    expect(ran.stdout).toContain('hello, cache\n');
    expect(ran.stdout).toContain('What differs:');
  },
  ci: (ran) => {
    const [first = '', second = '', summary = ''] = ran.stdout.split(/^== .*\n/m).slice(1);
    expect(first).toMatch(/^::group::build {2}ran .*\nbuilt\n::endgroup::$/m);
    expect(second).toMatch(/^::group::build {2}hit \(local\)/m);
    expect(summary).toContain('| <code>build</code> | ran |');
    expect(summary).toContain('| <code>build</code> | hit (local) |');
  },
  'first-step': (ran) => {
    expect(outcomes(ran)).toEqual(['miss', 'hit (local)', 'miss']);
    expect(ran.stderr).toContain(differenceText({ kind: 'variable', name: 'NODE_ENV', after: '' }));
    expect(ran.stderr).toContain('2 steps: 1 hit, 1 ran');
    expect(ran.stderr).toContain('2 steps: 2 hit');
    expect(ran.stderr).not.toContain('not declared');
    expect(ran.stdout).toMatch(/^(?:observed|unproven): .*proven access/m);
  },
  fleet: (ran) => {
    expect(
      ran.stdout.match(/^== round \d+, .*: all builds ended well, with the right outputs/gm),
    ).toHaveLength(2 * ROUNDS);
    const [, kills] = /^== in peace: all builds .* killed so far: (\d+)$/m.exec(ran.stdout) ?? [];
    expect(Number(kills)).toBeGreaterThan(0);
    console.log('examples/fleet:', { rounds: ROUNDS, kills: Number(kills) });
    const peace = ran.stdout.slice(ran.stdout.indexOf('== in peace, the same again'));
    expect(peace).toMatch(/\b3 remote cache hit/);
    expect(peace).toMatch(/^remote_storage_hit\t[1-9]/m);
    expect(peace).toMatch(/Cached: +1 cached, 1 total/);
  },
  library: (ran) => {
    expect(ran.stdout).toMatch(/^miss: .+\nhit-local: found in the local store\nkey [0-9a-f]{64}\n/);
    expect(ran.stdout).toContain(`miss: ${FIRST_RUN}\n`);
    expect(ran.stdout).toContain('stored 5 bytes as 2cf24dba5fb0');
  },
  monorepo: (ran) => {
    expect(ran.stderr).toContain('3 steps: 3 ran');
    expect(ran.stderr).toContain('3 steps: 3 hit');
    expect(ran.stderr).toContain('3 steps: 1 hit, 2 ran');
    expect(ran.stderr).toContain('app/main.c changed: app#build');
    expect(ran.stderr).not.toContain('not declared');
    expect(ran.stdout).toContain('hello, graph');
  },
  checkpoint: (ran) => {
    const [, checkpoint] = /starting from checkpoint (\d+)/.exec(ran.stderr) ?? [];
    expect(Number(checkpoint), ran.stderr).toBeLessThan(40); // not the last: it was really killed
    expect(ran.stdout).toContain('the same model');
  },
  'typescript-package': (ran) => {
    expect(outcomes(ran)).toEqual(['miss', 'hit (local)', 'miss', 'hit (local)']);
    expect(ran.stderr).toContain('src/shout.ts changed');
    expect(ran.stdout).toContain('toUpperCase');
  },
  'two-runners': (ran) => {
    expect(outcomes(ran)).toEqual(['miss', 'hit (remote)']);
    expect(ran.stdout.match(/sorted/g)).toHaveLength(2);
    expect(ran.stdout).toContain('both have the same file');
  },
};

/** How often the example of a fleet builds new sources. It takes minutes, and runs in the soak only. */
const ROUNDS = 60;
const SOAK_ONLY = ['fleet'];
const RUN = Object.entries(CHECKS).filter(([name]) => soak(20) > 1 || !SOAK_ONLY.includes(name));

/** Files for other programs. Each has a test file of its own. */
const WITHOUT_RUN = ['monitoring', 'proxy'];

test('every example has a test', () => {
  expect([...Object.keys(CHECKS), ...WITHOUT_RUN].sort()).toEqual(readdirSync(EXAMPLES).sort());
});

test('the load balancer of the fleet accepts its configuration', async () => {
  const env = { PATH: `${SYSTEM_PATH}:/usr/sbin`, BALANCER_PORT: '1', ONE_PORT: '2', TWO_PORT: '3' };
  const ran = await runProcess(['haproxy', '-c', '-f', join(EXAMPLES, 'fleet', 'haproxy.cfg')], {
    cwd: '/',
    env,
  });
  expect(ran.code, ran.stderr).toBe(0);
});

/** These run the sources of the checkout in `npm test`, and all do in a soak: the executable takes a third of the CPU time. */
const FROM_SOURCES = ['first-step', 'library', 'monorepo'];

function programOf(name: string): string | undefined {
  const isFromSources = soak(20) > 1 || FROM_SOURCES.includes(name) || DEFAULT_FORM === 'source';
  return isFromSources ? undefined : FORMS.executable[0];
}

test.each(RUN)('%s', { timeout: soak(7_200_000, 240_000) }, async (name, check) => {
  makeCheckout();
  const ran = await runExample(join(shop.workspace, 'examples', name), programOf(name));
  expect(ran.code, ran.stderr).toBe(0);
  check(ran);
  expect(git('status', '--porcelain', 'examples')).toBe('');
});

test.each(Object.keys(CHECKS))(
  '%s, copied to a folder without assay, reports that assay is missing',
  async (name) => {
    const copy = join(shop.workspace, name);
    cpSync(join(EXAMPLES, name), copy, { recursive: true });
    rmSync(join(copy, 'node_modules'), { recursive: true, force: true }); // left by a run in place
    const ran = await runExample(copy);
    expect(ran.code).toBe(127);
    expect(ran.stderr).toMatch(/^no assay here: .*\n$/);
  },
);

test.each(['two-runners', 'checkpoint'])('%s fails if assay does not start', async (name) => {
  const copy = join(shop.workspace, name);
  cpSync(join(EXAMPLES, name), copy, { recursive: true });
  const ASSAY = shop.script('broken', 'echo broken >&2', 'exit 125');
  const env = { PATH: SYSTEM_PATH, HOME: shop.folder, ASSAY };
  const ran = await runProcess([join(copy, 'run.sh')], { cwd: '/', env });
  expect(ran.code).not.toBe(0);
  expect(ran.stderr).toContain('broken');
});

test('no example or recipe installs assay from a public registry', () => {
  const asking = /npx (--yes |-y )?assay|npm (install|i|exec)( --?[a-z-]+)* "?assay(@|"|\s|$)/;
  const files = [EXAMPLES, join(PROJECT, 'docs')].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name)),
  );
  expect(files.filter((file) => asking.test(readFileSync(file, 'utf8')))).toEqual([]);
});
