// Makes the two pictures of README.md from real runs of dist/assay: docs/images/terminal.svg and
// docs/images/audit.png. Nothing in them is written by hand. Needs `npm run build`, and the Debian packages
// tmux and chromium, which the tests do not need: the script names what is missing and installs nothing. Run
// it again after a change of what Assay says.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { terminalSvg } from './terminal-svg.ts';

const ROOT = join(import.meta.dirname, '..');
const IMAGES = join(ROOT, 'docs/images');
/** A fixed name, because the audit page shows the path. */
const FOLDER = join(tmpdir(), 'assay-demo');
const WORKSPACE = join(FOLDER, 'first-step');
const COLUMNS = 100;
const ROWS = 60;

const SESSION: readonly string[] = [
  'assay run count',
  'rm -r dist lines.txt && assay run count',
  "echo '// again' >> src/a.js && assay run count",
  'assay run report',
  'assay run report',
  'echo other > secret.txt && assay run report',
];
/** `report` reads a file that it does not declare. */
const STEPS = {
  build: { command: ['node', 'build.mjs'], inputs: ['src/**', 'build.mjs'], outputs: ['dist'] },
  count: { command: 'grep -c . dist/app.js > lines.txt', inputs: ['dist/**'], outputs: ['lines.txt'] },
  report: { command: 'wc -c src/*.js secret.txt > report.txt', inputs: ['src/**'], outputs: ['report.txt'] },
};
const AUDIT = ['audit', '--input', 'src', '--input', 'leaky.sh', '--output', 'out.txt'];

if (!existsSync(join(ROOT, 'dist/assay'))) stop('there is no dist/assay: run `npm run build` first');
for (const [program, debian] of [
  ['tmux', 'tmux'],
  ['chromium', 'chromium'],
] as const) {
  if (!onPath(program)) stop(`${program} is missing: apt-get install ${debian}`);
}
if (existsSync(FOLDER)) stop(`${FOLDER} exists: remove it first`);
mkdirSync(FOLDER);
try {
  cpSync(join(ROOT, 'examples/first-step'), WORKSPACE, { recursive: true });
  for (const made of ['dist', 'lines.txt', 'out.txt', 'run.sh', 'README.md', '.gitignore']) {
    rmSync(join(WORKSPACE, made), { recursive: true, force: true });
  }
  writeFileSync(join(WORKSPACE, 'assay.json'), JSON.stringify({ steps: STEPS }));
  mkdirSync(IMAGES, { recursive: true });
  writeFileSync(join(IMAGES, 'terminal.svg'), terminalSvg(recordedScreen(), COLUMNS));
  takeScreenshot(join(IMAGES, 'audit.png'));
} finally {
  rmSync(FOLDER, { recursive: true, force: true });
}

/** The screen of a terminal in which the session was typed, with its colours as escape sequences. */
function recordedScreen(): string {
  const script = [
    `type() { printf '\\033[1;32m$\\033[0m %s\\n' "$1"; eval "$1"; echo; }`,
    'clear',
    ...SESSION.map((line) => `type ${quoted(line)}`),
    'tmux wait-for -S recorded; sleep 60',
  ].join('\n');
  const socket = ['-L', `assay-demo-${process.pid}`, '-f', '/dev/null'];
  const tmux = (...words: string[]) =>
    execFileSync('tmux', [...socket, ...words], { env: environment(), cwd: WORKSPACE });
  tmux('new-session', '-d', '-s', 'demo', '-x', `${COLUMNS}`, '-y', `${ROWS}`, 'sh', '-c', script);
  try {
    tmux('set-option', '-g', 'status', 'off');
    tmux('wait-for', 'recorded');
    const screen = tmux('capture-pane', '-e', '-p', '-t', 'demo').toString().trimEnd();
    if (screen.includes('ASSAY_')) throw new Error(`a command of the session failed:\n${screen}`);
    return screen;
  } finally {
    tmux('kill-server');
  }
}

function takeScreenshot(picture: string): void {
  const page = join(FOLDER, 'audit.html');
  try {
    const options = { env: environment(), cwd: WORKSPACE, stdio: 'ignore' } as const;
    execFileSync(join(ROOT, 'dist/assay'), [...AUDIT, '--html', page, '--', './leaky.sh'], options);
  } catch {
    if (!existsSync(page)) throw new Error('assay audit wrote no page'); // it ends with 3, because there are findings
  }
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--hide-scrollbars',
    '--window-size=1000,820',
  ];
  execFileSync('chromium', [...flags, `--screenshot=${picture}`, `file://${page}`], {
    env: environment(),
    stdio: 'ignore',
  });
}

function environment(): NodeJS.ProcessEnv {
  const path = [join(ROOT, 'dist'), dirname(process.execPath), process.env.PATH].join(delimiter);
  return {
    PATH: path,
    HOME: join(FOLDER, 'home'),
    ASSAY_STORE: join(FOLDER, 'store'),
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
  };
}

function onPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
}

function quoted(line: string): string {
  return `'${line.replaceAll("'", "'\\''")}'`;
}

function stop(reason: string): never {
  console.error(`record-demo: ${reason}`);
  process.exit(1);
}
