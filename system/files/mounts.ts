// Finds mount points below a folder. Assay never moves or removes a folder that contains one: the mounted
// files may belong to anybody.
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

/** The kernel writes spaces and backslashes as three octal digits. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
