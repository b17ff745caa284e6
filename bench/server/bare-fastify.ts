// The yardstick: a fastify server that answers every GET with the same 4 KiB.
import fastify from 'fastify';

const body = Buffer.alloc(4096, 'a');
const app = fastify();
app.get('/*', (_request, reply) => {
  reply.send(body);
});
console.log(`listens on ${await app.listen({ host: '127.0.0.1', port: 0 })}`);
