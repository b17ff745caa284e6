// Resolves `dependsOn`: "build" is a step of the same package, "^build" of the packages it depends on,
// "pkg#build" of another package, "//#build" of the root.
import { suggestion } from '../../core/cli/command.ts';
import type { Located } from '../../core/config/document.ts';
import type { Package } from './packages.ts';
import { qualifiedStepId, type Step } from './step.ts';

export class DependencyResolver {
  readonly #packages: ReadonlyMap<string, Package>;
  readonly #ids: ReadonlySet<string>;

  constructor(packages: readonly Package[], ids: ReadonlySet<string>) {
    this.#packages = new Map(packages.map((one) => [one.name, one]));
    this.#ids = ids;
  }

  /** `isShared`: written in packageSteps, so a package without such a step does not need it. */
  resolve(owner: Package, wanted: readonly Located[], isShared: boolean): string[] {
    return [...new Set(wanted.flatMap((one) => this.#resolveOne(owner, one, isShared)))];
  }

  #resolveOne(owner: Package, { text, refuse }: Located, isShared: boolean): string[] {
    if (text.startsWith('^')) return [...this.#above(owner, text.slice(1), new Set([owner.name]))];
    const [packageName, name] = text.includes('#') ? splitId(text) : [owner.name, text];
    const id = qualifiedStepId(packageName, name);
    if (this.#ids.has(id)) return [id];
    if (isShared && !text.includes('#') && this.#isKnown(name)) return [];
    throw refuse(`there is no step ${JSON.stringify(id)}${suggestion(id, [...this.#ids], '')}`);
  }

  #isKnown(name: string): boolean {
    return this.#packages.keys().some((owner) => this.#ids.has(qualifiedStepId(owner, name)));
  }

  /** A package without such a step passes the question on to its own dependencies. */
  #above(owner: Package, name: string, seen: Set<string>): Set<string> {
    const found = new Set<string>();
    for (const dependency of owner.dependencies) {
      const other = this.#packages.get(dependency);
      if (!other || seen.has(dependency)) continue;
      seen.add(dependency);
      const id = qualifiedStepId(other.name, name);
      if (this.#ids.has(id)) found.add(id);
      else for (const behind of this.#above(other, name, seen)) found.add(behind);
    }
    return found;
  }
}

/** "//#build" is a step of the root. A package's name never contains "#". */
function splitId(text: string): [string, string] {
  const at = text.lastIndexOf('#');
  const packageName = text.slice(0, Math.max(0, at));
  return [packageName === '//' ? '' : packageName, text.slice(at + 1)];
}

/** How `step` names `other` in its `dependsOn`. */
export function referenceFrom(step: Pick<Step, 'package'>, other: Pick<Step, 'package' | 'name'>): string {
  if (step.package === other.package) return other.name;
  return `${other.package || '//'}#${other.name}`;
}
