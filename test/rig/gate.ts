// A file that a command waits for, so that a test says when the command goes on, however busy the machine is.

/** For `sh`. It gives up after a minute, so that nobody waits for ever in a test that fails. */
export function untilThere(path: string): string {
  return `n=0; while ! test -e '${path}' && [ $((n += 1)) -lt 3000 ]; do sleep 0.02; done`;
}
