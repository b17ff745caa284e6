// Each kind of finding is in the guide.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KINDS } from '../../../client/audit/finding-kinds.ts';

const GUIDE = readFileSync(new URL('../../../docs/HERMETICITY.md', import.meta.url), 'utf8');

test.each(Object.keys(KINDS))('%s is in docs/HERMETICITY.md', (kind) => {
  expect(GUIDE).toContain(`\`${kind}\``);
});
