// A proxy that delays everything between clients and a server. Runs in its own process and prints its port.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface LineJob {
  /** The server's port. */
  readonly port: number;
  readonly delayMs: number;
}

const [job]: LineJob[] = await once(process, 'message');
if (!job) throw new Error('there is no job');
const { port, delayMs } = job;

const server = createServer({ noDelay: true }, (near) => {
  const far = connect({ port, host: '127.0.0.1', noDelay: true });
  carry(near, far);
  carry(far, near);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') process.send?.(address.port);
});

function carry(from: Socket, to: Socket): void {
  const later = (act: () => void) => setTimeout(() => to.destroyed || act(), delayMs);
  from.on('data', (bytes) => later(() => to.write(bytes)));
  from.on('error', () => {}).on('close', () => later(() => to.destroy()));
}
