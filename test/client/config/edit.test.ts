// Declarations are added where the step is defined; the rest of the file stays as it is.
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Addition, addToStep, toConfigPath } from '../../../client/config/edit.ts';
import { loadWorkspace } from '../../../client/config/workspace.ts';
import { writeFiles } from '../../rig/folders.ts';
import { stepNamed } from './step-named.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'assay-edit-')));
});
afterEach(() => rmSync(root, { recursive: true }));

const TEXT = `{
  // ours
  "steps": {
    "build": {
      "command": "true", // fast
      "inputs": ["src/**"]
    }
  }
}
`;

test('comments are kept, lists grow, and existing entries are not added again', async () => {
  writeFiles(root, { 'assay.json': TEXT });
  const step = stepNamed(await loadWorkspace(root), 'build');
  const additions: Addition[] = [
    { field: 'inputs', value: 'a.txt' },
    { field: 'inputs', value: 'src/**' },
    { field: 'tools', value: 'node' },
  ];
  expect(await addToStep(root, step, additions, async () => undefined)).toEqual({ added: 2, refused: [] });
  const text = readFileSync(join(root, 'assay.json'), 'utf8');
  expect(text).toContain('// ours');
  expect(text).toContain('// fast');
  const again = stepNamed(await loadWorkspace(root), 'build');
  expect(again.inputs.map(({ pattern }) => pattern)).toEqual(['src/**', 'a.txt']);
  expect(again.tools).toEqual(['node']);
});

test('paths in the package are written relative to it, others relative to the root', async () => {
  writeFiles(root, {
    'assay.json': { packages: ['p'], packageSteps: { b: { command: 'true' } } },
    'p/x': '',
  });
  const step = stepNamed(await loadWorkspace(root), 'p#b');
  expect(toConfigPath(step, 'p/src/a')).toBe('src/a');
  expect(toConfigPath(step, 'other/a')).toBe('//other/a');
});
