// The cookie of a login in the access matrix (test/attack/access-matrix.test.ts): a browser sends every example of every
// address with every method.
import { expect, test } from 'vitest';
import { ANONYMOUS, UNSIGNED, World } from '../../../test/attack/access/world.ts';

/** The cookie of a browser in which main has logged in. */
async function logIn(world: World): Promise<string> {
  const login = world.requests(['POST']).find(({ address }) => address.name === 'fastify /login');
  if (!login) throw new Error('the login has no example');
  const { bytes } = await world.send('main', login);
  const [cookie] = /assay-session=[\w-]+/.exec(bytes.toString('latin1')) ?? [];
  if (cookie === undefined) throw new Error('the login gave no cookie');
  return cookie;
}

test('the cookie of a login is good for GET and HEAD of pages and of /api alone, and shows what its token does', async () => {
  const world = await (await World.open()).prepare();
  const cookie = await logIn(world);
  const before = await world.dump();
  world.changes.length = 0;
  for (const request of world.requests()) {
    const { address, method, example } = request;
    // A logout ends its login at every server.
    const own = address.name === 'fastify /logout' ? await logIn(world) : cookie;
    const headers = { ...example.headers, cookie: own };
    const reply = await world.send(ANONYMOUS, { ...request, example: { ...example, headers } });
    const isRead =
      /^fastify \/(api|runs|misses|hermeticity|storage|setup|action)(?![\w-])/.test(address.name) &&
      /^(GET|HEAD)$/.test(method);
    if (address.publicMethods.includes(method)) continue;
    if (isRead) {
      const byToken = await world.send('main', request);
      expect({ to: byToken.to, status: reply.status }).toEqual({ to: byToken.to, status: byToken.status });
    } else if (example.credential === 'signed-url') expect(UNSIGNED, reply.to).toContain(reply.status);
    else expect(reply, reply.to).toMatchObject({ status: '401' });
  }
  expect(world.changes).toEqual([]);
  expect(await world.dump()).toEqual(before);
});
