// Each kind of finding belongs to a group of the report and is in the guide; otherwise it would not be shown.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { GROUPS, KINDS } from '../../../client/audit/finding-kinds.ts';

const GUIDE = readFileSync(new URL('../../../docs/HERMETICITY.md', import.meta.url), 'utf8');

test.each(Object.keys(KINDS))(
  '%s is in exactly one group of the report, and in docs/HERMETICITY.md',
  (kind) => {
    expect(GROUPS.flatMap(([, kinds]) => kinds).filter((one) => one === kind)).toHaveLength(1);
    expect(GUIDE).toContain(`\`${kind}\``);
  },
);
