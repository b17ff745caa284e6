// The lights of Set up: green from the first request of a tool.
import type { Setup, ToolSetup } from '../api/schemas/setup.ts';

const PAUSE_MS = 2000;

export function startLights(): void {
  if (!document.querySelector('[data-lights]')) return;
  setInterval(follow, PAUSE_MS);
}

async function follow(): Promise<void> {
  if (document.hidden) return;
  const answer = await fetch('/api/v1/setup').catch(() => undefined);
  if (!answer?.ok) return;
  const { tools }: Setup = await answer.json();
  for (const tool of tools) show(tool);
}

function show({ name, lastRequestAt, lookupsToday }: ToolSetup): void {
  const light = document.querySelector(`[data-tool="${CSS.escape(name)}"]`);
  if (!light || lastRequestAt === undefined) return;
  const lookups = `${lookupsToday.toLocaleString('en-US')} ${lookupsToday === 1 ? 'lookup' : 'lookups'}`;
  const text = `Connected: ${lookups} today, the last at ${new Date(lastRequestAt).toLocaleTimeString()}`;
  const isFirst = !light.classList.contains('on');
  if (light.textContent !== text) light.textContent = text;
  light.classList.add('on');
  const summary = document.querySelector('#connected');
  if (isFirst && summary) summary.textContent = `${name} is connected.`;
}
