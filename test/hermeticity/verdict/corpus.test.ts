// The corpus: small actions with their expected findings, and hermetic ones without any. Both tracers must
// agree on each.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tracer } from '../../../hermeticity/trace/tracer.ts';
import { type AbsPath, absPath } from '../../../system/paths/absolute-path.ts';
import { compileFixture, Folder, PROJECT, TRACERS } from '../rig.ts';
import { C } from './corpus/c.ts';
import { type Case, lineOf, StagedCase } from './corpus/case.ts';
import { MAKE } from './corpus/make.ts';
import { NODE_CASES } from './corpus/node.ts';
import { PYTHON } from './corpus/python.ts';
import { SH } from './corpus/sh.ts';
import { TYPESCRIPT } from './corpus/typescript.ts';

const CORPUS: Readonly<Record<string, readonly Case[]>> = {
  shell: SH,
  C,
  Python: PYTHON,
  Node: NODE_CASES,
  TypeScript: TYPESCRIPT,
  make: MAKE,
};

for (const [tracerName, makeTracer] of Object.entries(TRACERS)) {
  describe(`${tracerName} on the corpus`, () => {
    let tracer: Tracer;
    let programs: Folder;
    let tools: AbsPath[];
    beforeAll(() => {
      tracer = makeTracer();
      programs = new Folder();
      compileFixture('calls', programs.at('calls'));
      tools = [programs.path, absPath(`${PROJECT}/node_modules`)];
    });
    afterAll(() => programs.remove());

    for (const [chapter, cases] of Object.entries(CORPUS)) {
      describe(chapter, () => {
        for (const one of cases) {
          const title =
            one.finds.length === 0
              ? `reports nothing for an action that ${one.name}`
              : `reports an action that ${one.name}`;
          it(title, async () => {
            const stage = new StagedCase(one, tools);
            try {
              const { verdict, exitCode, said } = await stage.run(tracer);
              const found = verdict.findings
                .map(lineOf)
                .map((line) => matchOf(line, one.finds))
                .sort();
              expect({ found, exitCode, said, complete: verdict.complete }).toEqual({
                found: [...one.finds].sort(),
                exitCode: 0,
                said: expect.any(String),
                complete: true,
              });
            } finally {
              stage.remove();
            }
          });
        }
      });
    }
  });
}

/** A "*" in an expected finding matches the parts that differ from run to run. */
function matchOf(line: string, expected: readonly string[]): string {
  const pattern = (text: string) =>
    new RegExp(
      `^${text
        .split('*')
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('.*')}$`,
      's',
    );
  return expected.find((text) => pattern(text).test(line)) ?? line;
}
