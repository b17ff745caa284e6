// The page of a graph: no box overlaps another, no edge crosses a box, and no name becomes markup.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BOX, layoutOf } from '../../../client/graph/page/layout.ts';
import { Workshop } from '../../rig/assay.ts';
import { FIRST_RUN } from '../run/misses.ts';

interface Named {
  readonly id: string;
  readonly package: string;
  readonly name: string;
  readonly dependsOn: readonly string[];
}

/** Packages whose steps depend on some of the packages before them. */
function packages(count: number): Named[] {
  return Array.from({ length: count }, (_, at) => at).flatMap((at): Named[] => {
    const behind = [at - 1, at >> 1, at % 7].filter((other) => other >= 0 && other < at);
    const builds = [...new Set(behind)].map((other) => `p${other}#build`);
    const name = (step: string) => ({ id: `p${at}#${step}`, package: `p${at}`, name: step });
    return [
      { ...name('build'), dependsOn: at % 5 === 0 ? [] : builds },
      { ...name('test'), dependsOn: [`p${at}#build`, ...builds] },
      { ...name('lint'), dependsOn: [] },
      { ...name('docs'), dependsOn: [`p${at}#build`] },
    ];
  });
}

describe.each([
  ['5 steps', packages(2).slice(0, 5)],
  ['48 steps', packages(12)],
  ['200 steps', packages(50)],
  ['1,000 steps', packages(250)],
])('%s', (_, order) => {
  const { places, edges, width, height } = layoutOf(order);

  test('no box overlaps another, and all are on the page', () => {
    const sorted = places.toSorted((a, b) => a.x - b.x || a.y - b.y);
    sorted.forEach((one, at) => {
      expect(
        one.x >= 0 && one.y >= 0 && one.x + BOX.width <= width && one.y + BOX.height <= height + 0.01,
      ).toBe(true);
      const clash = sorted
        .slice(at + 1)
        .find((other) => other.x < one.x + BOX.width && Math.abs(other.y - one.y) < BOX.height);
      expect(clash).toBeUndefined();
    });
  });

  test('every step is to the right of its dependencies', () => {
    const counted = order.flatMap(({ dependsOn }) => [...new Set(dependsOn)]).length;
    expect(edges).toHaveLength(counted);
    for (const { from, to } of edges)
      expect((places[to]?.x ?? 0) - (places[from]?.x ?? 0)).toBeGreaterThan(BOX.width);
  });

  test('the path of a long edge crosses no box', () => {
    for (const { via } of edges)
      for (const { x, y } of via) {
        const crossed = places.find(
          (box) => x > box.x && x < box.x + BOX.width && y > box.y && y < box.y + BOX.height,
        );
        expect(crossed).toBeUndefined();
      }
  });
});

describe('--graph=html', () => {
  let shop: Workshop;
  beforeEach(() => {
    shop = new Workshop();
  });
  afterEach(() => shop.remove());

  /** The data that the page draws. */
  const drawn = (page: string) => {
    const [, data = ''] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page) ?? [];
    return JSON.parse(data);
  };

  test('shows for each step whether it would hit, why not, and its dependencies', async () => {
    const build = { command: 'cp in.txt out.txt', inputs: ['in.txt'], outputs: ['out.txt'] };
    const steps = {
      build,
      test: { command: 'cat out.txt', inputs: ['out.txt'] },
      lint: { command: 'true', inputs: ['in.txt'] },
    };
    shop.write('assay.json', JSON.stringify({ steps }));
    shop.write('in.txt', 'a');
    await shop.assay(['run', 'lint', 'build']);
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: shop.workspace });
    git('init', '--quiet', '--initial-branch=main');
    git('add', 'assay.json', 'in.txt');
    git('commit', '--quiet', '--message', 'all');
    const { stdout, code } = await shop.assay(['run', '--graph=html']);
    expect(code).toBe(0);
    expect(stdout).toContain('<title>Steps of workspace</title>');
    const { steps: boxes, edges } = drawn(stdout);
    expect(boxes).toMatchObject([
      { id: 'build', state: 'hit', command: 'cp in.txt out.txt', outputs: ['out.txt'] },
      {
        id: 'test',
        state: 'miss',
        says: `would run: ${FIRST_RUN}`,
        implied: [{ read: 'out.txt', maker: 'build' }],
      },
      { id: 'lint', state: 'hit', says: expect.stringContaining('hit: ') },
    ]);
    expect(edges).toMatchObject([{ from: 0, to: 1 }]);
    shop.write('in.txt', 'b');
    const affected = await shop.assay(['run', '--graph=html', '--affected=main', 'lint']);
    expect(drawn(affected.stdout).steps).toMatchObject([{ id: 'lint', affected: true, state: 'miss' }]);
    expect(affected.stdout).toContain('affected since main');
  });

  test('is self-contained, and shows no name as markup', async () => {
    const hostile = '</script><script>alert(1)</script><img src=x onerror=alert(1)>';
    const folder = shop.another('<b>&"\'');
    const config = { packages: ['p'], steps: { 'a"\'<b>': { command: hostile, inputs: [] } } };
    shop.write('assay.json', JSON.stringify(config), 0o644, folder);
    const own = { name: hostile, steps: { build: { command: ['true', hostile], inputs: [] } } };
    shop.write('p/assay.json', JSON.stringify(own), 0o644, folder);
    const { stdout } = await shop.assay(['run', '--graph=html'], { cwd: folder });
    expect(drawn(stdout).steps.map(({ id }: { id: string }) => id)).toEqual(['a"\'<b>', `${hostile}#build`]);
    expect(stdout.match(/<script/g)).toHaveLength(2);
    expect(stdout).not.toContain('<img');
    expect(stdout).not.toContain('<b>&"');
    expect(stdout).toMatch(/Content-Security-Policy" content="default-src 'none'; script-src 'sha256-/);
    expect(stdout).not.toMatch(/(?:src|href)="|url\((?!#)|@import|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
  });

  test('has a script that builds no markup from text', () => {
    const source = readFileSync(join(import.meta.dirname, '../../../client/graph/page/script.ts'), 'utf8');
    expect(source).not.toMatch(/innerHTML|outerHTML|insertAdjacent|document\.write|eval\(/);
  });
});
