// An agent without a model: its decisions are a list. It tries one way, sees the check fail, goes back to where it began,
// and tries another way. It may be killed at any moment and started again.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, run, workspace } from 'assay';

const FOLDERS = { folders: ['src', 'dist'] };

interface Decision {
  readonly text: string;
  readonly why: string;
}

/** What a model would be asked. It takes a while, and its answer depends on its input alone. */
async function decide(attempt: number): Promise<Decision> {
  const { value, outcome } = await call(
    { name: 'decide', version: '1', input: { task: 'greet the world, loudly', attempt } },
    async () => {
      note(`asked ${attempt}`);
      await sleep(300);
      if (attempt === 1) return { text: 'hello, world\n', why: 'name the world' };
      return { text: 'hello, world!\n', why: 'the check wants an exclamation mark' };
    },
  );
  note(`answered ${attempt}`);
  console.log(`decision ${attempt}: ${outcome}`);
  return value as Decision;
}

/** A cached action: it runs only for a source that it has not seen. */
async function build(): Promise<void> {
  const { outcome } = await run({
    command: ['sh', '-c', 'mkdir -p dist && tr a-z A-Z < src/greeting.txt > dist/greeting.txt'],
    inputs: ['src/greeting.txt'],
    outputs: ['dist/greeting.txt'],
  });
  console.log(`build: ${outcome}`);
}

function isRight(): boolean {
  return readFileSync('dist/greeting.txt', 'utf8').includes('!');
}

/** For the test of this example: which questions were really asked. */
function note(line: string): void {
  if (process.env.AGENT_LOG) appendFileSync(process.env.AGENT_LOG, `${line}\n`);
}

const { outcome } = await workspace.save('start', FOLDERS);
if (outcome === 'taken') {
  const { written } = await workspace.restore('start', FOLDERS);
  console.log(`started again: ${written} folders rolled back`);
}

for (let attempt = 1; attempt <= 2; attempt++) {
  const { text, why } = await decide(attempt);
  writeFileSync('src/greeting.txt', text);
  await build();
  if (isRight()) {
    console.log(`done, because ${why}: ${readFileSync('dist/greeting.txt', 'utf8').trim()}`);
    break;
  }
  const { saved } = await workspace.restore('start', FOLDERS);
  console.log(`the check failed; rolled back, and kept ${saved ? 'what was tried' : 'nothing'}`);
}
