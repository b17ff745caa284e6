// `assay report --markdown`: the last run here and a run of a server, as a comment that holds data alone.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { markdownOf } from '../../../../client/view/markdown.ts';
import { Workshop } from '../../../../test/rig/assay.ts';
import { identity, sourceOf } from '../../../../test/server/access/identities.ts';
import { ask } from '../../../../test/server/rig.ts';
import type { Runs } from '../../api/schemas/runs.ts';
import { testServer } from '../rig.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'in');
});
afterEach(() => shop.remove());

const COUNTS = {
  ...{ steps: 1, hitsLocal: 0, hitsRemote: 0, misses: 1, failed: 0, interrupted: 0, skipped: 0 },
  ...{ savedMs: 0, elapsedMs: 0, bytesUp: 0, bytesDown: 0 },
};
const row = (step: string, why: string) => ({
  step,
  why,
  outcome: 'miss' as const,
  commandMs: 5,
  elapsedMs: 5,
});
const rowsOf = (markdown: string) => markdown.split('\n').filter((line) => /^\| (?!step)/.test(line));

test('text of steps and commands makes no Markdown, no HTML, no mention and no other row', () => {
  const nasty =
    '</code><script>x</script>|\n| @acme/owners `a` **b** [c](http://d) ![](e) &lt; $x$ ~~f~~ \\| #1 \x1b[2J\u202e';
  const page = markdownOf({ counts: COUNTS, rows: [row(nasty, nasty)], warnings: [nasty] });
  expect(rowsOf(page)).toHaveLength(1);
  expect(rowsOf(page)[0]?.split('|')).toHaveLength(6);
  for (const line of page.split('\n').filter((one) => one.includes('script'))) {
    const text = line.replaceAll(/<\/?code>/g, '').replace(/^\| | \| ran \| 5 ms \| | \|$/g, '');
    expect(text).not.toMatch(/[<>`*[\]$~\\\p{Cc}\p{Cf}]/u);
    expect(line.replaceAll(/<code>[^<]*<\/code>/g, '')).not.toContain('@');
  }
  expect(page).toContain('&#92;u{1b}');
});

test('a comment holds at most 65,536 characters, and failures come first', () => {
  const rows = Array.from({ length: 5000 }, (_, at) => row(`s${at}`, '|'.repeat(1000)));
  const page = markdownOf({
    counts: COUNTS,
    rows: [...rows, { ...row('bad', 'ended with 3'), outcome: 'failed' as const }],
    warnings: Array.from({ length: 50 }, () => '<'.repeat(1000)),
  });
  expect(page.length).toBeLessThan(65_536);
  expect(rowsOf(page)[0]).toBe('| <code>bad</code> | **failed** | 5 ms | ended with 3 |');
  expect(page).toMatch(/… and \d+ more\./);
});

test('the last run here is printed as its summary file was, also when it failed', async () => {
  const steps = {
    good: { command: 'cat in.txt', inputs: ['in.txt'] },
    bad: { command: 'exit 3', inputs: ['in.txt'] },
    after: { command: 'true', inputs: [], dependsOn: ['bad'] },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  expect((await shop.assay(['report', '--markdown'])).stderr).toContain('ASSAY_NO_HISTORY');
  for (const _ of ['misses', 'a hit and a failure']) {
    await shop.assay(['run', '--keep-going', '--summary', 'summary.md', 'good', 'bad', 'after']);
    const { stdout, code } = await shop.assay(['report', '--markdown']);
    const stable = (text: string) => text.replaceAll(/\d+(\.\d+)? m?s/g, 'T');
    expect(stable(stdout)).toBe(stable(readFileSync(join(shop.workspace, 'summary.md'), 'utf8')));
    expect([code, rowsOf(stdout)[0]]).toEqual([
      0,
      expect.stringMatching(/bad<\/code> \| \*\*failed.*ended with 3/),
    ]);
  }
  await shop.assay(['run', '--', 'sh', '-c', 'echo a | cat; exit 5']);
  expect((await shop.assay(['report', '--markdown'])).stdout).toContain('echo a &#124; cat; exit 5');
});

test('a run of a server is printed to a token that may read it, and to no other', async () => {
  const identities = [identity('team', { namespace: 'acme' }), identity('rival', { namespace: 'rival' })];
  const server = await testServer({ identities: sourceOf(...identities) });
  try {
    shop.write('assay.json', JSON.stringify({ steps: { bad: { command: 'exit 3', inputs: ['in.txt'] } } }));
    const env = { ASSAY_REMOTE: server.url, ASSAY_TOKEN: 'team' };
    await shop.assay(['run', 'bad'], { env });
    const headers = { authorization: 'Bearer team' };
    const runs: Runs = JSON.parse(String((await ask(`${server.url}/api/v1/runs`, 'GET', { headers })).body));
    const [run] = runs.runs;
    const printed = await shop.assay(['report', '--markdown', run?.id ?? ''], { env });
    expect(rowsOf(printed.stdout)).toEqual([
      expect.stringMatching(/bad<\/code> \| \*\*failed\*\* .*ended with 3/),
    ]);
    expect(printed.stdout).toContain(`(${server.url}/runs/${run?.id})`);
    const refused = await shop.assay(['report', '--markdown', run?.id ?? ''], {
      env: { ...env, ASSAY_TOKEN: 'rival' },
    });
    expect([refused.code, refused.stdout]).toEqual([2, '']);
    expect((await shop.assay(['report', '--markdown', '../admin'], { env })).code).toBe(2);
  } finally {
    await server.stop();
  }
});
