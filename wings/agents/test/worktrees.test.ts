// Several worktrees of one repository share the store of their user.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { answerIn } from '../../../test/client/short/answers.ts';
import { Workshop } from '../../../test/rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const git = (...args: readonly string[]) => {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@t'];
  execFileSync('git', [...who, ...args], { cwd: shop.workspace });
};

test('a worktree made by `git worktree add` hits at once, and `assay clean` in one leaves the other as it is', async () => {
  const steps = {
    make: { command: 'cat src/in > made', inputs: ['src/**'], outputs: ['made'] },
    check: { command: 'grep one made', inputs: ['made'], dependsOn: ['make'] },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  shop.write('src/in', 'one\n');
  git('init', '-q', '-b', 'main');
  git('add', 'assay.json', 'src');
  git('commit', '-qm', 'all');
  const answer = async (cwd: string) =>
    answerIn((await shop.assay(['run', '--json=short', 'check'], { cwd })).stdout);
  expect(await answer(shop.workspace)).toMatchObject({ outcome: 'ok', ran: 2 });
  const other = join(shop.folder, 'other');
  git('worktree', 'add', '-q', '-b', 'agent', other);
  expect(await answer(other)).toMatchObject({ outcome: 'ok', hits: 2, ran: 0 });
  expect(readFileSync(join(other, 'made'), 'utf8')).toBe('one\n');
  expect(await shop.assay(['clean'], { cwd: other })).toMatchObject({ code: 0 });
  expect(readFileSync(join(shop.workspace, 'made'), 'utf8')).toBe('one\n');
  expect(await answer(shop.workspace)).toMatchObject({ hits: 2, ran: 0 });
  expect(await answer(other)).toMatchObject({ hits: 2, ran: 0 });
});
