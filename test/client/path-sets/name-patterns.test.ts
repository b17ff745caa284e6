// Names that differ in every run do not make a new path set each time, and nothing that a result depends on
// is dropped.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openUsableStore } from '../../../client/local-store/open.ts';
import { matchesNamePattern, withPatterns } from '../../../client/path-sets/name-patterns.ts';
import { setsIn } from '../../../client/path-sets/path-sets.ts';
import { localPathSets } from '../../../client/path-sets/storage.ts';
import { parseHash } from '../../../core/digest.ts';
import type { ObservedPath, PathSet } from '../../../core/path-set.ts';
import { Workshop } from '../../rig/assay.ts';
import { soak } from '../../rig/soak.ts';

const RUNS = soak(5, 3);

describe('patterns', () => {
  const seen = (path: string, state = 'absent', root = 'workspace'): ObservedPath => {
    return { root, path, names: false, state, left: '', without: [], lens: '', shown: [], note: '' };
  };
  const holds = () => 'absent';
  const shown = (set: PathSet) => set.map(({ root, path }) => `${root} ${path}`).sort();
  const COMMON = [seen('a', 'file 1'), seen('b')];

  test.each([
    ['tmp.AbC123', 'tmp.xYz789', 'tmp.*'],
    ['tmp.AbC123', 'tmp.AbC999', 'tmp.*'],
    ['deep/probe.123', 'deep/probe.98765', 'deep/probe.*'],
    ['sedAbCdEf', 'sedXyZwVu', 'sed*'],
    ['.out.12.tmp', '.out.345.tmp', '.out.*.tmp'],
    ['conf-1700-ab.mjs', 'conf-1800-cd.mjs', 'conf-*.mjs'],
  ])('%s and %s are like %s', (one, two, pattern) => {
    const found = withPatterns([...COMMON, seen(two)], [[...COMMON, seen(one)]], holds);
    expect(shown(found)).toEqual([`like:workspace ${pattern}`, 'workspace a', 'workspace b'].sort());
    const again = withPatterns([...COMMON, seen(one.replace(/\d|[A-Z]/, '7'))], [found], holds);
    expect(again).toEqual(found);
  });

  test.each([
    ['a name without a fixed part', seen('xAbC'), seen('yDeF')],
    ['another folder', seen('one/tmp.1'), seen('two/tmp.2')],
    ['another root', seen('tmp.1'), seen('tmp.2', 'absent', '')],
    ['a file that was there', seen('tmp.1', 'file 1'), seen('tmp.2', 'file 1')],
    [
      'a file that the action left',
      { ...seen('tmp.1'), left: 'file 1' },
      { ...seen('tmp.2'), left: 'file 1' },
    ],
  ])('%s stays as it is', (_what, one, two) => {
    const set = [...COMMON, two];
    expect(withPatterns(set, [[...COMMON, one]], holds)).toBe(set);
  });

  test('sets that differ in something else stay as they are', () => {
    const set = [...COMMON, seen('tmp.2')];
    expect(withPatterns(set, [[seen('a', 'file 1'), seen('tmp.1')]], holds)).toBe(set);
    expect(withPatterns(set, [COMMON], holds)).toBe(set);
    expect(withPatterns(set, [set], holds)).toBe(set);
  });

  test('a pattern that another file is like is not used', () => {
    const set = [...COMMON, seen('tmp.2')];
    expect(withPatterns(set, [[...COMMON, seen('tmp.1')]], () => 'there')).toBe(set);
  });

  test('a later name that is not like the pattern widens it', () => {
    const earlier = withPatterns([seen('sedAb')], [[seen('sedAc')]], holds);
    expect(shown(earlier)).toEqual(['like:workspace sedA*']);
    expect(shown(withPatterns([seen('sedXy')], [earlier], holds))).toEqual(['like:workspace sed*']);
  });

  test('several names of one run become one pattern, or one each', () => {
    const names = (...paths: string[]) => paths.map((path) => seen(path));
    const two = withPatterns(names('t.a1', 't.b2', 'u.c3'), [names('t.d4', 'u.e5')], holds);
    expect(shown(two)).toEqual(['like:workspace t.*', 'like:workspace u.*']);
  });

  test('one or more characters match', () => {
    expect(matchesNamePattern('tmp.1', 'tmp.*')).toBe(true);
    expect(matchesNamePattern('tmp.', 'tmp.*')).toBe(false);
    expect(matchesNamePattern('a.b', 'a.*b')).toBe(false);
    expect(matchesNamePattern('a.xb', 'a.*b')).toBe(true);
  });
});

describe('runs', () => {
  let shop: Workshop;

  beforeEach(() => {
    shop = new Workshop();
  });

  afterEach(() => shop.remove());

  async function run(script: string) {
    const ran = await shop.run(['--inputs=observed', '--output', 'out', '--', 'sh', '-c', script]);
    return { ...ran.summary, out: readFileSync(join(shop.workspace, 'out'), 'utf8') };
  }

  /** The path sets that the local store has for an action. */
  async function setsOf(key: string): Promise<PathSet[]> {
    const store = await openUsableStore(shop.store, () => {});
    if (!store) throw new Error('no store');
    try {
      return await setsIn(parseHash(key), localPathSets(store), ({ state }) => state);
    } finally {
      await store.close();
    }
  }

  test.each([
    ['mktemp', 't=$(mktemp ./tmp.XXXXXXXX); cat src > $t; cat $t > out; rm $t'],
    ['mktemp in a folder that is listed', 't=$(mktemp ./tmp.XXXXXXXX); ls > /dev/null; cat src > out; rm $t'],
    ['a folder of mktemp', 't=$(mktemp -d ./tmp.XXXXXXXX); cat src > $t/a; cat $t/a > out; rm -r $t'],
    ['a probe with a process id', 'test -e probe.$$ || cat src > out'],
    ['a probe in /tmp', 'test -e /tmp/assay-test-probe.$$ || cat src > out'],
    ['a probe before the file is made', 'test -e work.$$ || cp src work.$$; cat work.$$ > out; rm work.$$'],
    ['a listing after a probe', 'test -e probe.$$; ls > /dev/null; cat src > out'],
  ])(`%s: ${RUNS} runs share a few sets`, async (_what, script) => {
    let key = '';
    for (let at = 0; at < RUNS; at++) {
      shop.write('src', `content ${at}`);
      const ran = await run(script);
      expect(ran).toMatchObject({ outcome: 'miss', published: true, out: `content ${at}` });
      ({ key } = ran);
      expect((await run(script)).outcome).toBe('hit-local');
    }
    expect((await setsOf(key)).length).toBeLessThanOrEqual(2);
    for (let at = 0; at < RUNS; at++) {
      shop.write('src', `content ${at}`);
      const ran = await run(script);
      expect(ran, JSON.stringify([ran, await setsOf(key)])).toMatchObject({
        outcome: 'hit-local',
        out: `content ${at}`,
      });
    }
  });

  test('a name that depends on an input still counts', async () => {
    const script = 'if test -e "flag.$(cat src)"; then echo flagged; else echo plain; fi > out';
    const at = async (src: string) => {
      shop.write('src', src);
      const { outcome, out } = await run(script);
      return `${outcome} ${out.trim()}`;
    };
    for (const src of ['a', 'b', 'c']) expect(await at(src)).toBe('miss plain');
    for (const src of ['a', 'b', 'c']) expect(await at(src)).toBe('hit-local plain');
    for (const src of ['a', 'b', 'c']) {
      const flag = shop.write(`flag.${src}`, '');
      expect(await at(src)).toBe('miss flagged');
      rmSync(flag);
    }
    for (const src of ['a', 'b', 'c']) expect(await at(src)).toBe('hit-local plain');
    shop.write('flag.d', '');
    expect(await at('d')).toBe('miss flagged');
    for (const src of ['a', 'b', 'c']) expect(await at(src)).toMatch(/ plain$/);
  });
});
