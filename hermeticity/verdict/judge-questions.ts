// Judges what an action asked the kernel about the machine without naming a path, and what it read about its user.
// Each answer is a fact, or the result is not kept.
import { absPath } from '../../system/paths/absolute-path.ts';
import type { QuestionAccess } from '../trace/access.ts';
import { ADDRESSES, meaningOf } from './questions.ts';
import type { VerdictState } from './verdict-state.ts';

/** The tracer reports no more netlink sockets and messages of one process (hermeticity/native/ask.c). */
const MOST_NETLINK = 1000;

/** A program that reads one of these files may look for its own user or groups in it. */
const ABOUT_USERS = new Map([
  [absPath('/etc/passwd'), 'uid'],
  [absPath('/etc/group'), 'groups'],
]);

const JAVA = /^java$/;
const JAVA_LIBRARY = /\/libjvm\.so$/;

export class QuestionJudge {
  readonly #state: VerdictState;
  /** Properties of the machine that the result depends on. */
  readonly facts = new Set<string>();
  /** An address of the machine in an output is a fact. */
  searchesAddresses = false;
  /** Netlink sockets of a process, and those of them by which getaddrinfo asked. */
  readonly #sockets = new Map<number, QuestionAccess[]>();
  readonly #byGetaddrinfo = new Map<number, number>();

  constructor(state: VerdictState) {
    this.#state = state;
  }

  asked(access: QuestionAccess): void {
    const { question, number = 0, process } = access;
    if (question === 'netlink' && number === 0) {
      this.#sockets.set(process, [...(this.#sockets.get(process) ?? []), access]);
      return;
    }
    if (question === 'getaddrinfo')
      this.#byGetaddrinfo.set(process, (this.#byGetaddrinfo.get(process) ?? 0) + 1);
    this.#judge(access);
  }

  /** Call this after the last access. */
  end(): void {
    for (const [process, sockets] of this.#sockets) {
      const [first] = sockets;
      const isGetaddrinfo = sockets.length <= (this.#byGetaddrinfo.get(process) ?? 0);
      if (first && (!isGetaddrinfo || sockets.length >= MOST_NETLINK)) this.#judge(first);
    }
    for (const access of this.#state.report.accesses) {
      const fact = access.kind === 'read' ? ABOUT_USERS.get(access.path) : undefined;
      if (fact !== undefined) this.facts.add(fact);
    }
  }

  #judge(access: QuestionAccess): void {
    const meaning = meaningOf(access);
    const { file: path } = access;
    const { own, declared } = this.#state;
    if (!meaning || (path !== undefined && (own.isOwn(path) || declared.isInScratch(path)))) return;
    if ('fact' in meaning) this.#compare(access, meaning.fact, meaning.quiet === true);
    else {
      const [kind, detail] =
        'net' in meaning ? (['net', meaning.net] as const) : (['host', meaning.host] as const);
      this.#state.suspect({ kind, access, detail, ...(path !== undefined && { path }) });
    }
  }

  #compare(access: QuestionAccess, fact: string, quiet: boolean): void {
    if (fact === ADDRESSES && this.#isJava(access)) {
      this.searchesAddresses = true;
      return;
    }
    this.facts.add(fact);
    if (!quiet) this.#state.suspect({ kind: 'probe', access, detail: `asks for ${TEXTS.get(fact) ?? fact}` });
  }

  /**
   * Gradle looks at all addresses in every build, to talk to its own processes. Compared, no result of it would be
   * shared. So an address counts only if an output has it.
   */
  #isJava(access: QuestionAccess): boolean {
    const { report } = this.#state;
    const isLoaded = () => report.accesses.some((one) => one.kind === 'read' && JAVA_LIBRARY.test(one.path));
    return JAVA.test(this.#state.programOf(access)) && isLoaded();
  }
}

const TEXTS: ReadonlyMap<string, string> = new Map([
  [ADDRESSES, 'the addresses of this machine'],
  ['groups', 'the groups of its user'],
  ['uid', 'the number of its user'],
  ['nice', 'its priority'],
]);
