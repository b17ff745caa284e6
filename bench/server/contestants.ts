// The servers under comparison, each in its own process on a free loopback port.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { childrenOf, start, startAndWait, stop } from './process.ts';

export interface Contestant {
  readonly name: string;
  readonly origin: string;
  /** Where gRPC is, if on another port. */
  readonly grpcOrigin?: string;
  /** All processes that do the work. Their CPU time is the cost of an operation. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

export const PROJECT = join(import.meta.dirname, '..', '..');
const POLL_MS = 50;
const POLLS = 100;
const NGINX_WORKERS = 2;
const LISTENS = /listens on (http:\S+)/;

export function startAssay(folder: string, ...flags: readonly string[]): Promise<Contestant> {
  return startNode([], PROJECT, folder, flags);
}

/** With options for node. */
export function startAssayWith(options: readonly string[], folder: string): Promise<Contestant> {
  return startNode(options, PROJECT, folder, []);
}

/** As people install it: the executable, which becomes Node. */
export function startInstalled(folder: string): Promise<Contestant> {
  const command = [join(PROJECT, 'dist', 'assay'), ...serve(folder)];
  return started('assay', command, LISTENS);
}

/** `program`: its executable. It compresses what it stores unless `mode` is uncompressed. */
export async function startBazelRemote(
  program: string,
  folder: string,
  mode: 'zstd' | 'uncompressed',
): Promise<Contestant> {
  const [port, grpcPort] = [await freePort(), await freePort()];
  const flags = {
    dir: folder,
    max_size: '50',
    storage_mode: mode,
    http_address: `127.0.0.1:${port}`,
    grpc_address: `127.0.0.1:${grpcPort}`,
    access_log_level: 'none',
  };
  const child = start([program, ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value])]);
  await accepting(port);
  await accepting(grpcPort);
  return {
    name: `bazel-remote, ${mode}`,
    origin: `http://127.0.0.1:${port}`,
    grpcOrigin: `http://127.0.0.1:${grpcPort}`,
    pids: [Number(child.pid)],
    stop: () => stop(child),
  };
}

/** Of another checkout, with its own packages. */
export function startAssayOf(
  project: string,
  folder: string,
  options: readonly string[] = [],
): Promise<Contestant> {
  return startNode(options, project, folder, []);
}

async function startNode(
  options: readonly string[],
  project: string,
  folder: string,
  flags: readonly string[],
): Promise<Contestant> {
  const command = [
    process.execPath,
    ...options,
    join(project, 'bin', 'assay.ts'),
    ...serve(folder),
    ...flags,
  ];
  return started('assay', command, LISTENS);
}

function serve(folder: string): string[] {
  return ['serve', '--port', '0', '--store', folder, '--log-level', 'warn'];
}

/** A server of a fleet: `environment` says where PostgreSQL and the bucket are. */
export async function startFleetNode(
  environment: Readonly<Record<string, string>>,
  ...flags: readonly string[]
): Promise<Contestant> {
  const script = join(PROJECT, 'bin', 'assay.ts');
  const command = [process.execPath, script, 'serve', '--port', '0', '--log-level', 'warn', ...flags];
  return started('assay', command, LISTENS, environment);
}

export async function startBareFastify(): Promise<Contestant> {
  const script = join(import.meta.dirname, 'bare-fastify.ts');
  return started('bare fastify', [process.execPath, script], LISTENS);
}

async function started(
  name: string,
  command: readonly string[],
  ready: RegExp,
  environment?: Readonly<Record<string, string>>,
): Promise<Contestant> {
  const { child, match } = await startAndWait(command, ready, environment);
  return { name, origin: match, pids: [Number(child.pid)], stop: () => stop(child) };
}

/** Plain files in a folder, written by WebDAV. nginx neither syncs nor verifies them. */
export async function startNginx(folder: string): Promise<Contestant> {
  nginxVersion();
  mkdirSync(join(folder, 'files'), { recursive: true });
  const port = await freePort();
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, nginxConfig(folder, port));
  const child = start(['nginx', '-p', folder, '-c', config]);
  await accepting(port);
  const master = Number(child.pid);
  return {
    name: 'nginx',
    origin: `http://127.0.0.1:${port}`,
    pids: [master, ...(await nginxWorkers(master))],
    stop: () => stop(child),
  };
}

/** The workers do all the work, and the master accepts before they have started. */
async function nginxWorkers(master: number): Promise<number[]> {
  for (let polls = 0; polls < POLLS; polls++) {
    const workers = childrenOf(master);
    if (workers.length === NGINX_WORKERS) return workers;
    await delay(POLL_MS);
  }
  throw new Error('nginx did not start its workers');
}

export function nginxVersion(): string {
  const { stderr, error } = spawnSync('nginx', ['-v'], { encoding: 'utf8' });
  if (error) throw new Error('nginx is not here: install the Debian package nginx-light');
  return stderr.trim().replace(/^.*nginx\//, '');
}

/** `user root` if this runs as root: other workers could not write into a private temporary folder. */
function nginxConfig(folder: string, port: number): string {
  return `
    daemon off;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    worker_processes ${NGINX_WORKERS};
    pid ${folder}/nginx.pid;
    error_log stderr warn;
    events { worker_connections 1024; }
    http {
      access_log off;
      sendfile on;
      tcp_nopush on;
      keepalive_requests 10000000;
      client_max_body_size 0;
      client_body_temp_path ${folder}/body;
      proxy_temp_path ${folder}/proxy;
      fastcgi_temp_path ${folder}/fastcgi;
      uwsgi_temp_path ${folder}/uwsgi;
      scgi_temp_path ${folder}/scgi;
      server {
        listen 127.0.0.1:${port};
        root ${folder}/files;
        location / { dav_methods PUT; create_full_put_path on; }
      }
    }`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

async function accepting(port: number): Promise<void> {
  for (let poll = 0; poll < POLLS; poll++) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await delay(POLL_MS);
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`nothing accepts connections on port ${port}`);
}
