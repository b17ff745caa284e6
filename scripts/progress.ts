// Says on standard error what a script is at, and how long it has taken so far: on a busy machine a part may take minutes.
const began = Date.now();

export function progress(text: string): void {
  const seconds = ((Date.now() - began) / 1000).toFixed(0).padStart(4);
  process.stderr.write(`${seconds} s  ${text}\n`);
}
