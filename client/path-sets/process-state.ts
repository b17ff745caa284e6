// The state that a command inherits from the process that starts it, as texts: user, groups, limits, priority.
// Assay passes them on unchanged, so its own are those of the command.
import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { LIMIT, LIMITS } from '../../hermeticity/verdict/questions.ts';

/** The real and the effective user. */
export function userIds(): string {
  return [process.getuid?.(), process.geteuid?.()].join(' ');
}

/** The real and the effective group, and all groups. */
export function groupIds(): string {
  const all = [...(process.getgroups?.() ?? [])].sort((a, b) => a - b);
  return [process.getgid?.(), process.getegid?.(), ...all].join(' ');
}

export function niceness(): string {
  return `${getPriority()} ${schedulingClass()}`;
}

/** The real-time priority and the class: fields 40 and 41 of stat. The name before them may contain spaces. */
export function schedulingClass(): string {
  const [, fields = ''] = /.*\)(.*)/s.exec(readFileSync('/proc/self/stat', 'latin1')) ?? [];
  const FIRST = 3;
  return fields
    .trim()
    .split(' ')
    .slice(40 - FIRST, 42 - FIRST)
    .join(' ');
}

/** `property`: "limit:" and a name of LIMITS. None for another one. */
export function limitOf(property: string): readonly string[] {
  const name = property.slice(LIMIT.length);
  if (!LIMITS.includes(name)) return [];
  const line = limits().find((one) => one.startsWith(`Max ${name} `));
  return line === undefined ? [] : [line.replaceAll(/\s+/g, ' ')];
}

/** All of the above, except what no fact is about. */
export function processState(): string {
  try {
    const compared = limits().filter((line) => !/^Max (?:open files|processes|stack size) /.test(line));
    return [userIds(), groupIds(), niceness(), ...compared].join('\n');
  } catch {
    return '';
  }
}

function limits(): string[] {
  return readFileSync('/proc/self/limits', 'latin1').split('\n');
}
