// Stands for a real build: takes a second, reads src/, makes dist/app.js.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const until = Date.now() + 1000;
while (Date.now() < until);
const files = readdirSync('src').sort();
mkdirSync('dist', { recursive: true });
writeFileSync('dist/app.js', files.map((name) => readFileSync(`src/${name}`, 'utf8')).join(''));
console.log(`bundled ${files.length} files for ${process.env.NODE_ENV ?? 'nobody'}`);
