import { shout } from './shout.js';

export const greeting: string = shout('hello');
