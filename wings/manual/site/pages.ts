// Which pages the site has, in the order of its sidebar. A page of the repository that is in no group stops the build.
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A page of the site: a file of the repository, or a text that is made. */
export interface SitePage {
  /** Where the site has it: `SERVER.md`. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
  /** The file, from the root of the repository. */
  readonly source?: string;
}

interface Group {
  readonly text: string;
  readonly pages: readonly SitePage[];
  /** In the sidebar. */
  readonly isListed: boolean;
}

/** A pattern has the files that no group names. */
const GROUPS: readonly (readonly [string, readonly string[]])[] = [
  ['Start', ['README.md', 'docs/INSTALL.md', 'docs/start/README.md', 'docs/start/[a-z]*.md']],
  [
    'Wrap steps',
    [
      'wings/init/GUIDE.md',
      'docs/STEPS.md',
      'docs/HERMETICITY.md',
      'docs/TOOL-CACHES.md',
      'docs/MACHINES.md',
      'wings/agents/GUIDE.md',
      'wings/snapshots/GUIDE.md',
      'wings/*/GUIDE.md',
    ],
  ],
  [
    'Share a cache',
    ['docs/CI.md', 'wings/leases/GUIDE.md', 'wings/oidc/GUIDE.md', 'docs/PROTOCOLS.md', 'docs/EVENTS.md'],
  ],
  [
    'Operate',
    [
      'docs/SERVER.md',
      'docs/OPERATE.md',
      'docs/UPGRADE.md',
      'wings/dashboard/GUIDE.md',
      'wings/doctor/GUIDE.md',
      'wings/backup/GUIDE.md',
      'wings/fleet/GUIDE.md',
      'wings/incident/GUIDE.md',
      'wings/verify-release/GUIDE.md',
      'wings/manual/GUIDE.md',
    ],
  ],
  ['Trust', ['docs/TRUST.md', 'SECURITY.md', 'docs/RELIABILITY.md', 'docs/MEASUREMENTS.md']],
  ['Reference', ['docs/ERRORS.md', 'docs/FORMAT.md', 'CHANGELOG.md']],
  ['Inside', ['docs/ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/decisions/README.md']],
];

const NAMED: ReadonlySet<string> = new Set(GROUPS.flatMap(([, patterns]) => patterns));

const DECISIONS = 'docs/decisions/[0-9]*.md';

/** All groups, with a group for the commands behind the first. `commands` are pages that were made. */
export function groupsOf(root: string, commands: readonly SitePage[]): Group[] {
  const read = (patterns: readonly string[]) =>
    patterns.flatMap((pattern) => filesOf(root, pattern)).map((file) => pageOf(root, file));
  const groups = GROUPS.map(([text, patterns]) => ({ text, pages: read(patterns), isListed: true }));
  const decisions = { text: 'Decisions', pages: read([DECISIONS]), isListed: false };
  const [start, ...rest] = groups;
  if (!start) throw new Error('there are no groups');
  const all = [start, { text: 'Commands', pages: commands, isListed: true }, ...rest, decisions];
  const known = new Set(all.flatMap(({ pages }) => pages.map(({ source }) => source)));
  const lost = globSync(['docs/**/*.md', 'wings/*/GUIDE.md'], { cwd: root }).filter(
    (file) => !known.has(file),
  );
  if (lost.length > 0) throw new Error(`no group of wings/manual/site/pages.ts has ${lost.join(', ')}`);
  return all;
}

function filesOf(root: string, pattern: string): string[] {
  const found = globSync(pattern, { cwd: root }).sort();
  return found.filter((file) => file === pattern || !NAMED.has(file));
}

function pageOf(root: string, source: string): SitePage {
  const text = readFileSync(join(root, source), 'utf8');
  const [, title = source] = /^# (.+)$/m.exec(text) ?? [];
  const isDecision = /\/\d{4}-/.test(source);
  /* Who searches wants to use Assay. Decisions have an index. */
  const settings = isDecision ? '---\nsearch: false\n---\n\n' : '';
  return { path: sitePath(source), title: title.replaceAll('`', ''), text: settings + text, source };
}

/** `docs/CI.md` is CI.md, a wing's guide has the name of its wing. */
function sitePath(source: string): string {
  if (source === 'README.md') return 'index.md';
  if (basename(source) === 'GUIDE.md') return `guides/${basename(dirname(source))}.md`;
  return source.replace(/^docs\//, '').replace(/README\.md$/, 'index.md');
}
