// The newest lookups and writes, as they happen. All text comes from clients: it is set as text, never as markup.
import type { Tail } from '../api/schemas/now.ts';
import type { TailEvent } from '../api/schemas/parts.ts';
import { visible } from './visible.ts';

const PAUSE_MS = 2000;
const MOST_ROWS = 10;
const KEY_LENGTH = 12;

const TONES: Readonly<Record<TailEvent['what'], string>> = {
  hit: 'good',
  miss: 'warn',
  stored: 'plain',
  denied: 'bad',
};

export function startTail(): void {
  const tail = document.querySelector<HTMLElement>('[data-tail]');
  const body = tail?.querySelector('tbody');
  const button = document.querySelector<HTMLButtonElement>('button[data-pause]');
  if (!tail || !body || !button) return;
  let isPaused = false;
  button.hidden = false;
  button.addEventListener('click', () => {
    isPaused = !isPaused;
    button.textContent = isPaused ? 'Go on' : 'Pause';
    button.setAttribute('aria-pressed', String(isPaused));
  });
  let position = tail.dataset.tail ?? '';
  setInterval(async () => {
    if (isPaused || document.hidden) return;
    const answer = await fetch(`/api/v1/tail?after=${encodeURIComponent(position)}`).catch(() => undefined);
    if (!answer?.ok) return;
    const news: Tail = await answer.json();
    position = news.position;
    if (news.events.length > 0) tail.querySelector('[data-no-events]')?.remove();
    body.prepend(...news.events.map(row));
    while (body.rows.length > MOST_ROWS) body.deleteRow(-1);
  }, PAUSE_MS);
}

function row({ what, tool, key, run, namespace, identity, at }: TailEvent): HTMLTableRowElement {
  const made = document.createElement('tr');
  const code = (text: string, title = text) => {
    const element = document.createElement('code');
    element.textContent = visible(text);
    element.title = visible(title);
    return element;
  };
  const badge = document.createElement('span');
  badge.className = `badge ${TONES[what]}`;
  badge.textContent = what;
  const time = document.createElement('time');
  time.dateTime = at;
  time.title = at;
  time.textContent = new Date(at).toLocaleTimeString();
  const shortKey = code(key.slice(0, KEY_LENGTH), key);
  made.append(
    cell(badge),
    cell(visible(tool)),
    cell(run === undefined ? shortKey : linked(`/runs/${encodeURIComponent(run)}`, shortKey)),
    cell(code(namespace === '' ? '(default)' : namespace), 'wide'),
    cell(visible(identity), 'wide'),
    cell(time, 'number', 'When'),
  );
  return made;
}

function cell(content: Node | string, className = '', title?: string): HTMLTableCellElement {
  const made = document.createElement('td');
  made.className = className;
  if (title !== undefined) made.dataset.title = title;
  made.append(content);
  return made;
}

function linked(path: string, content: Node): HTMLAnchorElement {
  const made = document.createElement('a');
  made.href = path;
  made.append(content);
  return made;
}
