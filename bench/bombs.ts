// `npm run bench -- bombs`: the time until the server refuses a decompression bomb, measured by the sender,
// and the server's memory: after one bomb, and after twenty in a row, when V8 has not collected the garbage
// yet. test/attack/bombs.test.ts bounds the processor time of one bomb.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bombOf, compressedName, stackedEncodings } from '../test/rig/bombs.ts';
import { GrpcClient } from '../test/rig/grpc.ts';
import { forgetPeak, peakBytes, residentBytes } from '../test/rig/memory.ts';
import { ServerProcess } from '../test/rig/server.ts';
import { ReapiClient } from '../test/server/protocols/reapi/rig.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const TIMES = 20;
const ALLOWED_MS = 100;
/**
 * Any ratio is accepted up to 256 MiB, so a larger bomb is refused after 256 MiB were inflated, hashed and
 * written.
 */
const ALLOWED_ANNOUNCED_MS = 10_000;
const ALLOWED_BYTES = 32 * MIB;

const folder = mkdtempSync(join(tmpdir(), 'assay-bombs-'));
const server = await ServerProcess.start(join(folder, 'store'), { form: 'bundle' });
const reapi = new ReapiClient(await GrpcClient.to(server.url));
const pid = server.child.pid ?? 0;

async function upload(bomb: Buffer, announced: number): Promise<boolean> {
  const { status } = await reapi.write(compressedName('b0'.repeat(32), announced), bomb);
  return status === 'INVALID_ARGUMENT';
}

function stack(header: string): Promise<boolean> {
  const { port } = new URL(server.url);
  const lines = [
    `PUT /cas/${'a'.repeat(64)} HTTP/1.1`,
    'host: localhost',
    `${header}: ${stackedEncodings(5000)}`,
    '',
    '',
  ];
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(lines.join('\r\n')));
    socket.on('data', (piece) => {
      answer += piece.toString('latin1');
    });
    socket.on('error', () => {}).on('close', () => resolve(/^HTTP\/1\.1 4/.test(answer)));
  });
}

interface Bomb {
  readonly allowedMs: number;
  send(): Promise<boolean>;
}

const BOMBS: Readonly<Record<string, Bomb>> = {
  '10 KiB for 320 MiB, said to be 100 bytes': {
    allowedMs: ALLOWED_MS,
    send: () => upload(bombOf(320 * MIB), 100),
  },
  '320 KiB for 10 GiB, said to be 1 MiB': {
    allowedMs: ALLOWED_MS,
    send: () => upload(bombOf(10 * GIB), MIB),
  },
  '320 KiB for 10 GiB, said to be that': {
    allowedMs: ALLOWED_ANNOUNCED_MS,
    send: () => upload(bombOf(10 * GIB), 10 * GIB),
  },
  '5,000 content encodings': { allowedMs: ALLOWED_MS, send: () => stack('content-encoding') },
  '5,000 transfer encodings': { allowedMs: ALLOWED_MS, send: () => stack('transfer-encoding') },
};

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(0);
}

let isKept = true;
await upload(bombOf(3 * MIB), 3 * MIB);
for (const [name, { allowedMs, send }] of Object.entries(BOMBS)) {
  const times: number[] = [];
  const atRest = residentBytes(pid);
  let memory = 0;
  for (let time = 0; time < TIMES; time++) {
    forgetPeak(pid);
    const before = residentBytes(pid);
    const began = performance.now();
    if (!(await send())) throw new Error(`${name}: not refused`);
    times.push(performance.now() - began);
    memory = Math.max(memory, peakBytes(pid) - before);
  }
  const memoryOfAll = peakBytes(pid) - atRest;
  times.sort((a, b) => a - b);
  const [median = 0, most = 0] = [times[TIMES / 2], times.at(-1)];
  isKept &&= most <= allowedMs && memory <= ALLOWED_BYTES;
  console.log(
    `${name.padEnd(42)} ${median.toFixed(1).padStart(6)} ms median ${most.toFixed(1).padStart(7)} ms most, memory +${mib(memory)} MiB for one, +${mib(memoryOfAll)} after ${TIMES}`,
  );
}
console.log(
  `${isKept ? 'all' : 'NOT all'} refused within ${ALLOWED_MS} ms (${ALLOWED_ANNOUNCED_MS} for the one that announces its size) and +${ALLOWED_BYTES / MIB} MiB`,
);
reapi.grpc.close();
await server.stop();
rmSync(folder, { recursive: true, force: true });
