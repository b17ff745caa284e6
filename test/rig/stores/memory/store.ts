// A store in the memory of this process, with the layers of every store. It needs no verify layer: its engine returns the
// bytes that it was given.
import type { OnStoreEvent } from '../../../../store/events.ts';
import { addLayers } from '../../../../store/open.ts';
import type { Store } from '../../../../store/store.ts';
import { memoryEngine } from './engine.ts';

export function openMemoryStore(onEvent: OnStoreEvent = () => {}): Store {
  return addLayers(memoryEngine(), onEvent);
}
