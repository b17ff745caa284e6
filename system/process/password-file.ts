// The user of this process, as the password file names it.
// The environment does not matter: Bun's os.userInfo() takes the name from $USER.
import { readFileSync } from 'node:fs';

interface User {
  readonly name: string;
  readonly home: string;
}

/** The name of a user whom only a directory service knows is what its variable says. */
export function userName(): string {
  return userOfProcess()?.name ?? process.env.USER ?? '';
}

/** Undefined for a user whom the file does not have. */
export function userOfProcess(): User | undefined {
  const uid = String(process.getuid?.());
  try {
    for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
      const [name = '', , number, , , home = ''] = line.split(':');
      if (number === uid && name !== '') return { name, home };
    }
  } catch {
    // A container may have no such file.
  }
  return undefined;
}
