// Selects steps by name, glob and package.
import picomatch from 'picomatch';
import { suggestion } from '../../../core/cli/command.ts';
import { AssayError } from '../../../core/errors.ts';
import type { RelPath } from '../../../core/path.ts';
import type { Step, StepTable } from '../../config/step.ts';

interface StepSelection {
  /** "build", "pkg#build", "@scope/*#test"; none: every step. */
  readonly names: readonly string[];
  /**
   * Globs over names and folders of packages; none: every package. A name with "#" carries its own package.
   */
  readonly packages: readonly string[];
  /** The names of the packages that --filter left; undefined: every package. A package of them may lack a named step. */
  readonly filtered?: ReadonlySet<string> | undefined;
  /** The folder in which a bare name is resolved: a package's, or the root for all packages. */
  readonly folder: RelPath;
}

export function selectSteps({ names, packages, filtered, folder }: StepSelection, steps: StepTable): Step[] {
  const every = [...steps.values()];
  const all = every.filter((step) => isInPackages(step, packages));
  if (packages.length > 0 && all.length === 0) {
    const known = [...new Set([...steps.values()].map((step) => step.package || '//'))];
    const [first = ''] = packages;
    throw new AssayError('ASSAY_STEP_UNKNOWN', `no package matches ${first}${suggestion(first, known, '')}`);
  }
  const isLeft = (step: Step) => !filtered || filtered.has(step.package);
  const home = packages.length === 0 && !filtered ? packageAt(folder, steps) : undefined;
  if (names.length === 0)
    return all.filter((step) => isLeft(step) && (home === undefined || step.package === home));
  const found = names.flatMap((name) =>
    name.includes('#') ? matching(name, home, every, steps) : matching(name, home, all, steps).filter(isLeft),
  );
  return [...new Set(found)];
}

function matching(name: string, home: string | undefined, all: readonly Step[], steps: StepTable): Step[] {
  const found = all.filter((step) => matchesName(step, name, home));
  if (found.length > 0) return found;
  const known = name.includes('#') ? [...steps.keys()] : [...new Set(all.map((step) => step.name))];
  throw new AssayError(
    'ASSAY_STEP_UNKNOWN',
    `there is no step ${JSON.stringify(name)}${home === undefined ? '' : ` in ${home}`}${suggestion(name, known, '')}`,
  );
}

function matchesName(step: Step, name: string, home: string | undefined): boolean {
  if (!name.includes('#')) return (home === undefined || step.package === home) && isMatch(step.name, name);
  const at = name.lastIndexOf('#');
  const owner = name.slice(0, at);
  const sameOwner = owner === '//' ? step.package === '' : isMatch(step.package, owner);
  return sameOwner && isMatch(step.name, name.slice(at + 1));
}

function isInPackages(step: Step, packages: readonly string[]): boolean {
  if (packages.length === 0) return true;
  const names = [step.package || '//', step.folder, `./${step.folder}`];
  return packages.some((glob) => names.some((name) => isMatch(name, glob)));
}

function isMatch(text: string, glob: string): boolean {
  return text === glob || (/[*?{[]/.test(glob) && picomatch.isMatch(text, glob));
}

/** The package that contains `folder`; undefined for the root and elsewhere. */
function packageAt(folder: RelPath, steps: StepTable): string | undefined {
  const inside = [...steps.values()].filter(
    (step) => step.folder !== '' && (folder === step.folder || folder.startsWith(`${step.folder}/`)),
  );
  return inside.sort((a, b) => b.folder.length - a.folder.length)[0]?.package;
}
