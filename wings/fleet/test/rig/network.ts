// A network of its own for one node of a test: a network namespace with a cable to this machine, which can be broken.
// Unlike a proxy, a broken cable loses packets: connections are neither refused nor closed, and TCP sends again.
//
// Only root may make one. The kernel of the test machines has no netem, so that loss comes from a cable that is cut
// again and again, and delay from a narrow one with a short queue, which loses packets too.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

/**
 * `cut`: nothing arrives. `deaf`: nothing from the node arrives. `mute`: nothing arrives at the node. `flaky`: cut for
 * a part of the time. `narrow`: slow, and what does not fit is lost.
 */
export type Cable = 'whole' | 'cut' | 'deaf' | 'mute' | 'flaky' | 'narrow';

const PREFIX = 'assay-test-';
const NAMESPACES = '/run/netns';
/** Of the range for tests of networks (RFC 2544). Each cable takes four addresses. */
const RANGE = '198.18';
const MOST_CABLES = 16_384;
const MACHINE = '02:00:00:00:00:01';
const NODE = '02:00:00:00:00:02';
const NOBODY = '02:00:00:00:00:03';
const FLAKY_MS = 60;
const NARROW = ['tbf', 'rate', '6mbit', 'burst', '6kb', 'limit', '12kb'];

export class NodeNetwork {
  /** Where the node finds this machine. */
  readonly machineAddress: string;
  readonly #nodeAddress: string;
  readonly #name: string;
  readonly #device: string;
  #flicker: NodeJS.Timeout | undefined;
  #isNarrow = false;

  /** Undefined if this user, or this kernel, can't make one. */
  static create(): NodeNetwork | undefined {
    if (process.getuid?.() !== 0) return undefined;
    removeLeftovers();
    for (let number = 0; number < MOST_CABLES; number++) {
      // The name of the device is taken once on this machine, so the addresses are too.
      const device = `assay-t${number}`;
      if (existsSync(`/sys/class/net/${device}`)) continue;
      const name = `${PREFIX}${process.pid}-${number}`;
      try {
        return new NodeNetwork(number, device, name);
      } catch (error) {
        if (existsSync(`${NAMESPACES}/${name}`)) ip('netns', 'del', name);
        if (!String(error).includes('File exists')) return undefined;
      }
    }
    return undefined;
  }

  private constructor(number: number, device: string, name: string) {
    const network = `${RANGE}.${number >> 6}`;
    const first = (number & 63) * 4;
    this.machineAddress = `${network}.${first + 1}`;
    this.#nodeAddress = `${network}.${first + 2}`;
    this.#device = device;
    this.#name = name;
    ip('netns', 'add', name);
    ip(
      ...`link add ${device} address ${MACHINE} type veth peer name eth0 address ${NODE} netns ${name}`.split(
        ' ',
      ),
    );
    ip('address', 'add', `${this.machineAddress}/30`, 'dev', device);
    ip('link', 'set', device, 'up');
    this.#inside('address', 'add', `${this.#nodeAddress}/30`, 'dev', 'eth0');
    this.#inside('link', 'set', 'lo', 'up');
    this.#inside('link', 'set', 'eth0', 'up');
    this.#route(true, true);
  }

  /** Before the command that is to run inside. */
  get enter(): readonly string[] {
    return ['nsenter', `--net=${NAMESPACES}/${this.#name}`];
  }

  set cable(cable: Cable) {
    clearInterval(this.#flicker);
    this.#flicker = undefined;
    if (this.#isNarrow) this.#widen();
    this.#route(cable !== 'cut' && cable !== 'deaf', cable !== 'cut' && cable !== 'mute');
    if (cable === 'flaky') {
      let isWhole = true;
      this.#flicker = setInterval(() => {
        isWhole = !isWhole;
        this.#route(isWhole, isWhole);
      }, FLAKY_MS);
    } else if (cable === 'narrow') {
      this.#isNarrow = true;
      tc('qdisc', 'add', 'dev', this.#device, 'root', ...NARROW);
      tc('-netns', this.#name, 'qdisc', 'add', 'dev', 'eth0', 'root', ...NARROW);
    }
  }

  /** The processes inside must have ended. */
  remove(): void {
    clearInterval(this.#flicker);
    ip('link', 'del', this.#device);
    ip('netns', 'del', this.#name);
  }

  #widen(): void {
    this.#isNarrow = false;
    tc('qdisc', 'del', 'dev', this.#device, 'root');
    tc('-netns', this.#name, 'qdisc', 'del', 'dev', 'eth0', 'root');
  }

  /** A packet to an Ethernet address that nobody has vanishes, and the sender is told nothing. */
  #route(isHeard: boolean, isAnswered: boolean): void {
    const permanent = ['nud', 'permanent'];
    this.#inside(
      ...`neigh replace ${this.machineAddress} lladdr ${isHeard ? MACHINE : NOBODY} dev eth0`.split(' '),
      ...permanent,
    );
    ip(
      ...`neigh replace ${this.#nodeAddress} lladdr ${isAnswered ? NODE : NOBODY} dev ${this.#device}`.split(
        ' ',
      ),
      ...permanent,
    );
  }

  #inside(...args: readonly string[]): void {
    ip('-netns', this.#name, ...args);
  }
}

/** A test that was killed left its namespaces. */
function removeLeftovers(): void {
  if (!existsSync(NAMESPACES)) return;
  for (const name of readdirSync(NAMESPACES)) {
    const [, pid] = /^assay-test-(\d+)-\d+$/.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) ip('netns', 'del', name);
  }
}

function ip(...args: readonly string[]): void {
  execFileSync('/usr/sbin/ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function tc(...args: readonly string[]): void {
  execFileSync('/usr/sbin/tc', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
