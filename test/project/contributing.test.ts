// What CONTRIBUTING.md tells people to type works in their own shell, or says at once what to type instead.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runProcess } from '../rig/assay.ts';

const PROJECT = join(import.meta.dirname, '../..');
const TEXT = readFileSync(join(PROJECT, 'CONTRIBUTING.md'), 'utf8');

test('tests are run by npx, which brings the Node of the project', () => {
  const commands = [...TEXT.matchAll(/^.*\bvitest run\b.*$/gm)].map(([line]) => line);
  expect(commands.length).toBeGreaterThan(2);
  for (const line of commands) expect(line).toContain('npx vitest run');
  const npm = ['exec', '--', 'node', '-p', 'process.versions.node'];
  expect(execFileSync('npm', npm, { cwd: PROJECT, encoding: 'utf8' }).trim()).toBe(process.versions.node);
});

test('an older Node is refused before any test runs, with the command that works', async () => {
  const older = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' });
    import('./vitest.config.ts').catch(({ message }) => { console.log(message); });`;
  const { stdout } = await runProcess([process.execPath, '-e', older], { cwd: PROJECT, env: {} });
  expect(stdout).toBe(
    'the tests need the Node of the project, not 20.20.2: say `npx vitest run …` or `npm test`\n',
  );
});
