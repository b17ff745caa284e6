// Shapes for decodeStrict: which fields of the requests of the Remote Execution API, the Remote Asset API and
// path sets are messages.
import type { Shape } from '../message.ts';

const PLAIN: Shape = {};

/** One Digest in field 2: the request of most methods. */
export const ABOUT_ONE_DIGEST: Shape = { once: { 2: PLAIN } };
export const ABOUT_MANY_DIGESTS: Shape = { many: { 2: PLAIN } };
export const BATCH_UPDATE: Shape = { many: { 2: { once: { 1: PLAIN } } } };
export const SPLICE: Shape = { once: { 2: PLAIN }, many: { 3: PLAIN } };
export const REQUEST_METADATA: Shape = { once: { 1: PLAIN } };
export const FETCH_ASSET: Shape = { once: { 2: PLAIN, 3: PLAIN }, many: { 5: PLAIN } };
export const PUSH_ASSET: Shape = { once: { 4: PLAIN, 5: PLAIN }, many: { 3: PLAIN, 6: PLAIN, 7: PLAIN } };
export const FIND_RESULT: Shape = { many: { 3: PLAIN } };
export const PATH_SET_INDEX: Shape = { many: { 1: PLAIN } };
/** A request without nested messages. */
export const FLAT: Shape = PLAIN;
