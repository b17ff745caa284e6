// How the scripts of a package.json call each other: pre and post scripts, and scripts that only run others.
// A line that does anything else, or passes arguments, is no chain: it is observed as a whole.
import { isCleaning } from '../../client/config/cleaning-script.ts';

interface LinkedScript {
  /** It only runs other scripts. */
  readonly isChain: boolean;
  /** The scripts that npm runs before it, or instead of it. Without cycles. */
  readonly needs: readonly string[];
}

type Scripts = ReadonlyMap<string, string>;

/** The given scripts, and all that npm runs with them. A script that only removes files is none of these. */
export function linkedScripts(scripts: Scripts, names: readonly string[]): Map<string, LinkedScript> {
  const chains = new Set<string>();
  const needs = new Map<string, Set<string>>();
  const link = (name: string, need: string) => {
    visit(need);
    if (!reaches(needs, need, name)) needs.get(name)?.add(need);
  };
  const visit = (name: string) => {
    if (needs.has(name)) return;
    needs.set(name, new Set());
    const stages = stagesOf(scripts.get(name) ?? '', scripts);
    if (stages) chains.add(name);
    const before = around('pre', name, scripts);
    for (const need of [...before, ...(stages ?? []).flat()]) link(name, need);
    linkInOrder([before, ...(stages ?? [])], link);
    for (const post of around('post', name, scripts)) {
      visit(post);
      link(post, name);
    }
  };
  for (const name of names) visit(name);
  return new Map([...needs].map(([name, found]) => [name, { isChain: chains.has(name), needs: [...found] }]));
}

function around(place: 'pre' | 'post', name: string, scripts: Scripts): string[] {
  const line = scripts.get(`${place}${name}`);
  return line === undefined || isCleaning(line) ? [] : [`${place}${name}`];
}

/** Each script of a stage comes after those of the stage before it. */
function linkInOrder(
  stages: readonly (readonly string[])[],
  link: (name: string, need: string) => void,
): void {
  let before: readonly string[] = [];
  for (const stage of stages) {
    for (const name of stage) for (const need of before) link(name, need);
    if (stage.length > 0) before = stage;
  }
}

function reaches(needs: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean {
  return from === to || [...(needs.get(from) ?? [])].some((next) => reaches(needs, next, to));
}

const RUN = /^(?:npm|pnpm|yarn|bun) run(?:-script)?(?: (?:-s|--silent))? ([\w:.-]+)$/;
const RUN_ALL = /^(npm-run-all2?|run-s|run-p) (.+)$/;

/** Scripts of one stage run in parallel. Undefined if the line does more than to run scripts. */
function stagesOf(line: string, scripts: Scripts): string[][] | undefined {
  const stages: string[][] = [];
  for (const part of line.split('&&').map((one) => one.trim())) {
    if (isCleaning(part)) continue;
    const [, single] = RUN.exec(part) ?? [];
    const [, program = '', words = ''] = RUN_ALL.exec(part) ?? [];
    const found = single === undefined ? runAllStages(program, words, scripts) : [[single]];
    if (!found?.flat().every((name) => scripts.has(name))) return undefined;
    stages.push(...found);
  }
  const kept = stages.map((stage) => stage.filter((name) => !isCleaning(scripts.get(name) ?? '')));
  return kept.flat().length === 0 ? undefined : kept;
}

const SERIAL = new Set(['-s', '--serial', '--sequential']);
const PARALLEL = new Set(['-p', '--parallel']);
/** Options about what is printed. */
const QUIET = new Set([
  '-l',
  '-n',
  '-ln',
  '-nl',
  '--print-label',
  '--print-name',
  '--silent',
  '--aggregate-output',
]);

function runAllStages(program: string, words: string, scripts: Scripts): string[][] | undefined {
  if (program === '') return undefined;
  let isParallel = program === 'run-p';
  const stages: string[][] = [];
  let group: string[] = [];
  const end = () => {
    stages.push(...(isParallel ? [group] : group.map((name) => [name])));
    group = [];
  };
  for (const word of words.split(/\s+/)) {
    if (SERIAL.has(word) || PARALLEL.has(word)) {
      end();
      isParallel = PARALLEL.has(word);
    } else if (!QUIET.has(word)) {
      const names = matching(word, scripts);
      if (names.length === 0) return undefined;
      group.push(...names);
    }
  }
  end();
  return stages;
}

/** Scripts by a name or a pattern: "*" is within a part between colons, "**" across them. */
function matching(word: string, scripts: Scripts): string[] {
  const [, pattern] = /^["']?([\w:.*-]+)["']?$/.exec(word) ?? [];
  if (pattern === undefined || pattern.startsWith('-')) return [];
  const parts = pattern.split(/(\*+)/).map((part) => {
    if (part.startsWith('*')) return part === '*' ? '[^:]*' : '.*';
    return part.replaceAll('.', '\\.');
  });
  const expression = new RegExp(`^${parts.join('')}$`);
  return [...scripts.keys()].filter((name) => expression.test(name));
}
