// The script of the graph page. It inserts text of the workspace as text, never as markup.
export const SCRIPT = `
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const { steps, edges, box } = data;
const svg = document.querySelector('svg');
const byId = (id) => document.getElementById(id);
const drawn = (name, attributes, parent, text) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
};
const made = (name, parent, text) => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
};

/* Labels are cut to what fits, measured with the font that is used. */
const canvas = document.createElement('canvas').getContext('2d');
const family = getComputedStyle(document.body).fontFamily;
const fitted = (text, font, room, fromEnd) => {
  canvas.font = font + ' ' + family;
  if (canvas.measureText(text).width <= room) return text;
  const letters = [...text];
  let [few, many] = [0, letters.length];
  const cut = (count) => (fromEnd ? '…' + letters.slice(letters.length - count).join('') : letters.slice(0, count).join('') + '…');
  while (few < many - 1) {
    const middle = (few + many) >> 1;
    if (canvas.measureText(cut(middle)).width <= room) few = middle; else many = middle;
  }
  return cut(few);
};

const before = steps.map(() => []);
const after = steps.map(() => []);
for (const edge of edges) { before[edge.to].push(edge.from); after[edge.from].push(edge.to); }

const view = byId('view');
if (edges.length > 400) svg.classList.add('many');
const paths = edges.map(({ from, to, via, isShortcut }) => {
  const start = { x: steps[from].x + box.width, y: steps[from].y + box.height / 2 };
  const end = { x: steps[to].x - 5, y: steps[to].y + box.height / 2 };
  const points = [start, ...via, end];
  let line = 'M' + start.x + ' ' + start.y;
  for (let at = 1; at < points.length; at++) {
    const [a, b] = [points[at - 1], points[at]];
    const bend = Math.max(24, Math.abs(b.x - a.x) / 2);
    line += at % 2 === 0 && via.length > 0 ? 'L' + b.x + ' ' + b.y
      : 'C' + (a.x + bend) + ' ' + a.y + ' ' + (b.x - bend) + ' ' + b.y + ' ' + b.x + ' ' + b.y;
  }
  return drawn('path', { class: 'edge' + (isShortcut ? ' shortcut' : ''), d: line, 'marker-end': 'url(#end)' }, view);
});
const MARKS = { hit: '✓', miss: '↻', unknown: '?' };
const boxes = steps.map((step, at) => {
  const names = ['step', step.state, step.wanted && 'wanted', step.affected && 'affected'].filter(Boolean);
  const group = drawn('g', { class: names.join(' '), transform: 'translate(' + step.x + ' ' + step.y + ')', tabindex: 0, role: 'button', 'aria-label': step.id + ', ' + step.says }, view);
  drawn('title', {}, group, step.id + '\\n' + step.says);
  drawn('rect', { class: 'box', width: box.width, height: box.height, rx: 7 }, group);
  drawn('rect', { class: 'bar', x: 5, y: 6, width: 4, height: box.height - 12, rx: 2 }, group);
  const room = box.width - 16 - 26;
  const hasPackage = step.package !== '';
  drawn('text', { class: 'name', x: 16, y: hasPackage ? 34 : 26 }, group, fitted(step.name, '600 13.5px', room, false));
  if (hasPackage) drawn('text', { class: 'package', x: 16, y: 17 }, group, fitted(step.package, '11.5px', room, true));
  drawn('text', { class: 'big', x: 24, y: 30 }, group, fitted(step.name, '600 25px', box.width - 34, false));
  drawn('text', { class: 'mark', x: box.width - 16, y: 27 }, group, MARKS[step.state]);
  group.addEventListener('click', (event) => { event.stopPropagation(); if (!held?.moved) choose(at); });
  group.addEventListener('keydown', (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(at); } });
  return group;
});

/* ---- moving and zooming ---- */
let [x, y, scale] = [0, 0, 1];
const show = () => {
  view.setAttribute('transform', 'translate(' + x + ' ' + y + ') scale(' + scale + ')');
  svg.classList.toggle('far', scale < 0.55);
  svg.classList.toggle('farther', scale < 0.24);
};
const room = () => svg.getBoundingClientRect();
const zoomAt = (factor, px, py) => {
  const next = Math.min(3, Math.max(0.03, scale * factor));
  x = px - (px - x) * (next / scale);
  y = py - (py - y) * (next / scale);
  scale = next;
  show();
};
const fit = (members = steps) => {
  if (members.length === 0) return;
  const { width, height } = room();
  const left = Math.min(...members.map((one) => one.x)), top = Math.min(...members.map((one) => one.y));
  const right = Math.max(...members.map((one) => one.x)) + box.width, bottom = Math.max(...members.map((one) => one.y)) + box.height;
  scale = Math.min(1.25, (width - 60) / (right - left), (height - 60) / (bottom - top));
  x = (width - (right - left) * scale) / 2 - left * scale;
  y = (height - (bottom - top) * scale) / 2 - top * scale;
  show();
};
const goTo = (at) => {
  const { width, height } = room();
  scale = Math.max(scale, 0.8);
  x = width / 2 - (steps[at].x + box.width / 2) * scale;
  y = height / 2 - (steps[at].y + box.height / 2) * scale;
  show();
};
svg.addEventListener('wheel', (event) => {
  event.preventDefault();
  const { left, top } = room();
  zoomAt(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)), event.clientX - left, event.clientY - top);
}, { passive: false });
let held;
svg.addEventListener('pointerdown', (event) => { held = { x: event.clientX - x, y: event.clientY - y, from: [event.clientX, event.clientY], moved: false }; });
svg.addEventListener('pointermove', (event) => {
  if (!held || event.buttons === 0) return;
  if (!held.moved && Math.hypot(event.clientX - held.from[0], event.clientY - held.from[1]) < 4) return;
  held.moved = true;
  svg.classList.add('moving');
  x = event.clientX - held.x;
  y = event.clientY - held.y;
  show();
});
addEventListener('pointerup', () => { svg.classList.remove('moving'); });
svg.addEventListener('click', () => { if (!held?.moved) choose(undefined); });
const centre = (factor) => { const { width, height } = room(); zoomAt(factor, width / 2, height / 2); };
byId('in').onclick = () => centre(1.3);
byId('out').onclick = () => centre(1 / 1.3);
byId('fit').onclick = () => fit();

/* ---- one step, and all that it hangs together with ---- */
const panel = byId('panel');
const reach = (from, next) => {
  const found = new Set([from]);
  for (const at of found) for (const other of next[at]) found.add(other);
  return found;
};
let shown = new Set();
const focus = (members, chosen) => {
  shown = members;
  svg.classList.toggle('focused', members.size > 0);
  boxes.forEach((group, at) => { group.classList.toggle('near', members.has(at)); group.classList.toggle('chosen', at === chosen); });
  paths.forEach((path, at) => {
    const isNear = chosen !== undefined && members.has(edges[at].from) && members.has(edges[at].to);
    path.classList.toggle('near', isNear);
    path.setAttribute('marker-end', isNear ? 'url(#near-end)' : 'url(#end)');
  });
};
const list = (title, members) => {
  if (members.length === 0) return;
  made('h3', panel, title + ' (' + members.length + ')');
  const items = made('ul', panel);
  for (const at of members) { const item = made('button', made('li', items), steps[at].id); item.onclick = () => { choose(at); goTo(at); }; }
};
const choose = (at) => {
  panel.hidden = at === undefined;
  for (const other of document.querySelectorAll('.legend button')) other.setAttribute('aria-pressed', 'false');
  if (at === undefined) return focus(new Set(), undefined);
  const step = steps[at];
  focus(new Set([...reach(at, before), ...reach(at, after)]), at);
  panel.replaceChildren();
  made('h2', panel, step.id);
  const close = made('button', panel, '×');
  close.id = 'close';
  close.setAttribute('aria-label', 'Close');
  close.onclick = () => choose(undefined);
  made('p', panel, step.says);
  if (step.affected) made('p', panel, 'Affected by the change.');
  made('h3', panel, 'Command');
  made('pre', panel, step.command);
  if (step.outputs.length > 0) { made('h3', panel, 'Makes'); made('pre', panel, step.outputs.join('\\n')); }
  for (const { read, maker } of step.implied) made('p', panel, 'Reads ' + read + ', which ' + maker + ' makes.');
  list('Depends on', before[at]);
  list('Needed by', after[at]);
};

/* ---- search and legend ---- */
const search = byId('search');
let hits = [], current = 0;
const find = () => {
  const text = search.value.trim().toLowerCase();
  panel.hidden = true;
  hits = text === '' ? [] : steps.flatMap((step, at) => (step.id.toLowerCase().includes(text) ? [at] : []));
  current = 0;
  byId('found').textContent = text === '' ? '' : hits.length === 0 ? 'none' : hits.length + ' found';
  focus(new Set(hits), undefined);
  if (hits.length > 0 && hits.length <= 12) fit(hits.map((at) => steps[at]));
};
search.addEventListener('input', find);
search.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') { search.value = ''; find(); return; }
  if (event.key !== 'Enter' || hits.length === 0) return;
  goTo(hits[current % hits.length]);
  byId('found').textContent = (current % hits.length) + 1 + ' of ' + hits.length;
  current += event.shiftKey ? hits.length - 1 : 1;
});
for (const button of document.querySelectorAll('.legend button')) button.onclick = () => {
  const isOn = button.getAttribute('aria-pressed') !== 'true';
  choose(undefined);
  button.setAttribute('aria-pressed', String(isOn));
  const kind = button.dataset.kind;
  const members = steps.flatMap((step, at) => (kind === 'affected' ? step.affected : step.state === kind) ? [at] : []);
  focus(new Set(isOn ? members : []), undefined);
};
addEventListener('keydown', (event) => {
  if (event.target === search) return;
  if (event.key === '/') { event.preventDefault(); search.focus(); }
  if (event.key === '+') centre(1.3);
  if (event.key === '-') centre(1 / 1.3);
  if (event.key === '0') fit();
  if (event.key === 'Escape') choose(undefined);
});
addEventListener('resize', () => { if (shown.size === 0) fit(); });
fit();
`;
