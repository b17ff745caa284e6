// A child process that holds one read transaction of the index open until it is killed, as a process does that
// was stopped in the middle of a read. It prints "reading" once it does.
import { writeSync } from 'node:fs';
import { nativeAddon, open } from 'lmdb';

const READ_ONLY = 0x20000;
const [index = ''] = process.argv.slice(2);
const root = open({ path: index, overlappingSync: false, maxReaders: 1024 });
const transaction = new nativeAddon.Txn(root.env, READ_ONLY);
writeSync(1, 'reading\n');
process.stdin.resume().on('end', () => transaction.abort());
