// Prints the current phase of a script and its elapsed time on standard error, because a phase may take
// minutes on a busy machine.
const began = Date.now();

export function progress(text: string): void {
  const seconds = ((Date.now() - began) / 1000).toFixed(0).padStart(4);
  process.stderr.write(`${seconds} s  ${text}\n`);
}
