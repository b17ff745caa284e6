// A flag of `assay run` is read by what runs: none is accepted and ignored.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OPTION_NAMES, OPTIONS } from '../../../client/action/fields.ts';
import { ACTION_FLAGS, RUN_FLAGS } from '../../../client/commands/action-flags.ts';
import { GRAPH_FLAGS } from '../../../client/commands/graph-flags.ts';
import { ROOT, sourcesOf } from '../../project/sources.ts';

/** The names of the flags that these sources read, by `text`, `all` or `given`. */
function readIn(isReader: (file: string) => boolean): string[] {
  const texts = sourcesOf('client')
    .filter(isReader)
    .map((file) => readFileSync(join(ROOT, file), 'utf8'));
  return texts.flatMap((text) =>
    [...text.matchAll(/\.(?:text|all|given)\('([a-z-]+)'\)/g)].map(([, name = '']) => name),
  );
}

const BY_STEPS = readIn((file) => /^client\/(check-hits|graph|lease|retry|view)\//.test(file));
const BY_ACTIONS = readIn((file) => file === 'client/commands/action-flags.ts');

test.each(Object.keys(GRAPH_FLAGS))('--%s is read by a run of steps', (name) => {
  expect(BY_STEPS).toContain(name);
});

test('each flag that declares an action is read, by its name or as an option', () => {
  const read = [...BY_ACTIONS, ...OPTION_NAMES.map((name) => OPTIONS[name].flag)];
  const unread = Object.keys({ ...ACTION_FLAGS, ...RUN_FLAGS }).filter((name) => !read.includes(name));
  expect(unread).toEqual([]);
});
