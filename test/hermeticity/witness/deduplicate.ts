// Drops repeated accesses: a path that is accessed a thousand times is reported once. It is reported again
// after the command itself has created, changed or deleted it.
import type { PathVerb } from '../../../hermeticity/trace/access.ts';
import type { BytePath } from './resolve-links.ts';

type Fact = PathVerb | 'attributes';

export class Deduplicator {
  readonly #facts = new Map<BytePath, Set<Fact>>();
  readonly #listers = new Map<BytePath, number>();

  /** True the first time. Afterwards the path counts as existing. */
  isNew(path: BytePath, what: Exclude<Fact, 'absent' | 'probe'>): boolean {
    const facts = this.#of(path);
    facts.delete('absent');
    if (facts.has(what)) return false;
    facts.add(what);
    return true;
  }

  /** The reason for a listing depends on the program, so each program's first listing is new. */
  isNewListing(path: BytePath, pid: number): boolean {
    const first = this.isNew(path, 'list');
    const known = this.#listers.get(path) === pid;
    this.#listers.set(path, pid);
    return first || !known;
  }

  /** Makes the next listing new, for every program. */
  forgetListing(path: BytePath): void {
    this.#listers.delete(path);
  }

  /** Makes the next reading new. */
  forgetReading(path: BytePath): void {
    this.#facts.get(path)?.delete('read');
  }

  /** Any earlier access of an existing path implies that it exists. */
  isNewProbe(path: BytePath): boolean {
    const facts = this.#of(path);
    if (facts.size > 0 && !facts.has('absent')) return false;
    facts.delete('absent');
    facts.add('probe');
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

  /** A new hard link. A write through it also changes the first name, so that write is new. */
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
