// Sorts the test files into three kinds by what they import, directly or through others. An end-to-end test starts
// processes or has rounds that scale: it reaches node:child_process, playwright-core or test/rig/soak.ts. Of the others, a
// server test starts a whole server in its own process: it reaches server/listen.ts. The rest are unit tests.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Import, importsOf, ROOT, sourcesOf } from './sources.ts';

const STARTS_PROCESSES = new Set(['node:child_process', 'playwright-core']);
const SCALES = 'test/rig/soak.ts';
const STARTS_SERVER = 'server/listen.ts';

export interface TestKinds {
  readonly unit: readonly string[];
  readonly server: readonly string[];
  readonly e2e: readonly string[];
}

export function sortTests(): TestKinds {
  const tests = testFiles();
  const reach = new Reach();
  const e2e = tests.filter(
    (file) => !reach.specifiersOf(file).isDisjointFrom(STARTS_PROCESSES) || reach.filesOf(file).has(SCALES),
  );
  const others = tests.filter((file) => !e2e.includes(file));
  const server = others.filter((file) => reach.filesOf(file).has(STARTS_SERVER));
  return { unit: others.filter((file) => !server.includes(file)), server, e2e };
}

export function testFiles(): string[] {
  return ['test', 'wings'].flatMap(sourcesOf).filter((file) => file.endsWith('.test.ts'));
}

/** What a file imports, directly and through other sources. Types do not count: they vanish at run time. */
export class Reach {
  readonly #imports = new Map<string, readonly Import[]>();

  filesOf(file: string): Set<string> {
    const seen = new Set([file]);
    for (const one of seen)
      for (const { target = '' } of this.#of(one)) if (isSource(target)) seen.add(target);
    return seen;
  }

  specifiersOf(file: string): Set<string> {
    const files = [...this.filesOf(file)];
    return new Set(files.flatMap((one) => this.#of(one).map(({ specifier }) => specifier)));
  }

  #of(file: string): readonly Import[] {
    const known = this.#imports.get(file) ?? importsOf(file).filter(({ kind }) => kind !== 'type');
    this.#imports.set(file, known);
    return known;
  }
}

/** A text that reads like an import of no file is not one. */
function isSource(file: string): boolean {
  return file.endsWith('.ts') && existsSync(join(ROOT, file));
}
