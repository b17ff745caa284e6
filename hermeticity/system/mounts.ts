// Mount points below a folder. What lies behind one may be anybody's: a folder that holds one is never moved or removed.
import { readFileSync } from 'node:fs';

const MOUNT_POINT_FIELD = 4;

export function holdsMount(folder: string): boolean {
  return mountPoints().some((point) => point === folder || point.startsWith(`${folder}/`));
}

function mountPoints(): string[] {
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    return lines.map((line) => unescaped(line.split(' ')[MOUNT_POINT_FIELD] ?? ''));
  } catch {
    return [];
  }
}

/** The kernel writes blanks and backslashes as three octal digits. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
