// Opens the remote of a URL. In a file of its own, so that a run loads only the remote that it uses.
import type { Remote, RemoteOptions } from './remote.ts';

export async function openRemote(options: RemoteOptions): Promise<Remote> {
  if (options.url.protocol.startsWith('grpc')) {
    const { openGrpcRemote } = await import('./grpc/grpc-remote.ts');
    return openGrpcRemote(options);
  }
  const { openHttpRemote } = await import('./http.ts');
  return openHttpRemote(options);
}
