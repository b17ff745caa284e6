// A separate process, like a step of a workflow: `node actions-cache.ts save|restore FOLDER KEY [PREFIX…]`.
// Prints the result of @actions/cache as its last line.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

interface ActionsCache {
  saveCache(paths: string[], key: string): Promise<number>;
  restoreCache(paths: string[], key: string, restoreKeys: string[]): Promise<string | undefined>;
}

const source = join(import.meta.dirname, 'tools/node_modules/@actions/cache/lib/cache.js');
const { saveCache, restoreCache }: ActionsCache = await import(pathToFileURL(source).href);
const [, , verb, folder = '', key = '', ...prefixes] = process.argv;
const answer = verb === 'save' ? await saveCache([folder], key) : await restoreCache([folder], key, prefixes);
process.stdout.write(`\nanswer: ${answer}\n`);
