// What was told about each path, so that a path that is met a thousand times is told once; and again when the command itself
// has made, changed or removed it, because then it is news.
import type { PathVerb } from './access.ts';
import type { BytePath } from './resolve-links.ts';

type Fact = PathVerb | 'attributes';

export class Deduplicator {
  readonly #facts = new Map<BytePath, Set<Fact>>();
  readonly #listers = new Map<BytePath, number>();

  /** True the first time; from then on the path is known to be there. */
  isNew(path: BytePath, what: Exclude<Fact, 'absent' | 'probe'>): boolean {
    const told = this.#of(path);
    told.delete('absent');
    if (told.has(what)) return false;
    told.add(what);
    return true;
  }

  /** Why a folder is listed depends on who does it, so each program is told. */
  isNewListing(path: BytePath, pid: number): boolean {
    const first = this.isNew(path, 'list');
    const known = this.#listers.get(path) === pid;
    this.#listers.set(path, pid);
    return first || !known;
  }

  /** The next listing is news, whoever does it. */
  forgetListing(path: BytePath): void {
    this.#listers.delete(path);
  }

  /** Anything that was told about a path says that it is there. */
  isNewProbe(path: BytePath): boolean {
    const told = this.#of(path);
    if (told.size > 0 && !told.has('absent')) return false;
    told.delete('absent');
    told.add('probe');
    return true;
  }

  isNewAbsence(path: BytePath): boolean {
    if (this.#facts.get(path)?.has('absent')) return false;
    this.removed(path);
    return true;
  }

  wasWritten(path: BytePath): boolean {
    return this.#facts.get(path)?.has('write') === true;
  }

  wasExecuted(path: BytePath): boolean {
    return this.#facts.get(path)?.has('exec') === true;
  }

  created(path: BytePath): void {
    this.#facts.set(path, new Set(['write']));
  }

  /** A second name: who writes to it writes to the first one too, so that is news. */
  linked(path: BytePath): void {
    this.#facts.set(path, new Set(['probe']));
  }

  removed(path: BytePath): void {
    this.#facts.set(path, new Set(['absent']));
  }

  #of(path: BytePath): Set<Fact> {
    const known = this.#facts.get(path);
    if (known) return known;
    const fresh = new Set<Fact>();
    this.#facts.set(path, fresh);
    return fresh;
  }
}
