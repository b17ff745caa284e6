// The load process. It is separate, so that its work does not count as a server's. It takes jobs from its
// parent one at a time and exits on a wrong response.
import { createHash, randomBytes } from 'node:crypto';
import { Pool } from 'undici';
import { contentMaker } from './content.ts';
import { CONNECTIONS, type GetJob, type Job, type JobDone, type PutJob, type PutResultsJob } from './job.ts';
import { encodedResult } from './results.ts';

process.on('message', (job: Job) => {
  run(job).then(
    (done) => process.send?.(done),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function run(job: Job): Promise<JobDone> {
  const pool = new Pool(job.origin, { connections: job.connections ?? CONNECTIONS, pipelining: 1 });
  try {
    if (job.verb === 'putResults') return await putResults(pool, job);
    return { paths: job.verb === 'get' ? await get(pool, job) : await put(pool, job) };
  } finally {
    await pool.close();
  }
}

async function get(
  pool: Pool,
  { paths, count, bytes, token, connections, status = 200, verify = false }: GetJob,
): Promise<readonly string[]> {
  const headers = authorizationOf(token);
  await onAllConnections(count, connections, async (index) => {
    const path = paths[index % paths.length] ?? '/';
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
    const hash = verify ? createHash('sha256') : undefined;
    let received = 0;
    for await (const piece of body) {
      received += piece.length;
      hash?.update(piece);
    }
    const isRight =
      status !== 200 ||
      ((bytes === undefined || received === bytes) && (!hash || path.endsWith(hash.digest('hex'))));
    if (statusCode !== status || !isRight)
      throw new Error(`${statusCode}, ${received} bytes for GET ${path}`);
  });
  return paths;
}

async function put(
  pool: Pool,
  { prefix, count, bytes, token, connections }: PutJob,
): Promise<readonly string[]> {
  const paths: string[] = [];
  const make = contentMaker(bytes);
  await onAllConnections(count, connections, async () => {
    const { hash, body: content } = make();
    const path = `${prefix}/${hash}`;
    const headers = { ...authorizationOf(token), 'content-length': String(bytes) };
    const { statusCode, body } = await pool.request({ method: 'PUT', path, headers, body: content });
    await body.dump();
    if (statusCode < 200 || statusCode > 299) throw new Error(`${statusCode} for PUT ${path}`);
    paths.push(path);
  });
  return paths;
}

async function putResults(
  pool: Pool,
  { prefix, blobs, outputs, count, bytes, token, connections }: PutResultsJob,
): Promise<JobDone> {
  const paths: string[] = [];
  let resultBytes = 0;
  await onAllConnections(count, connections, async (index) => {
    const named = Array.from(
      { length: outputs },
      (_, output) => blobs[(index + output) % blobs.length] ?? '',
    );
    const content = encodedResult(
      named.map((path) => path.slice(-64)),
      bytes,
    );
    const path = `${prefix}/ac/${randomBytes(32).toString('hex')}`;
    const headers = { ...authorizationOf(token), 'content-length': String(content.length) };
    const { statusCode, body } = await pool.request({ method: 'PUT', path, headers, body: content });
    await body.dump();
    if (statusCode < 200 || statusCode > 299) throw new Error(`${statusCode} for PUT ${path}`);
    paths.push(path);
    resultBytes = content.length;
  });
  return { paths, resultBytes };
}

function authorizationOf(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

async function onAllConnections(
  count: number,
  connections: number = CONNECTIONS,
  request: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const connection = async () => {
    for (let index = next++; index < count; index = next++) await request(index);
  };
  await Promise.all(Array.from({ length: connections }, connection));
}
