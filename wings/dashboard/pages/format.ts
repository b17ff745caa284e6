// Durations, shares and times as a person reads them. core/text/amounts.ts has numbers and sizes.
import { type Html, html } from '../../../core/html/html.ts';
import { counted } from '../../../core/text/amounts.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function duration(milliseconds: number): string {
  const value = Math.max(0, milliseconds);
  if (value < SECOND) return `${Math.round(value)} ms`;
  if (value < MINUTE) return `${(value / SECOND).toFixed(1)} s`;
  if (value < HOUR) return two(value, MINUTE, 'min', SECOND, 's');
  if (value < DAY) return two(value, HOUR, 'h', MINUTE, 'min');
  return two(value, DAY, 'd', HOUR, 'h');
}

/** The larger unit, and the rest in the smaller one unless that is zero. */
function two(value: number, large: number, largeName: string, small: number, smallName: string): string {
  const rounded = Math.round(value / small) * small;
  const rest = Math.round((rounded % large) / small);
  const whole = `${Math.floor(rounded / large)} ${largeName}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smallName}`;
}

/** Never "100 %" for less than all, and never "0 %" for more than nothing. */
export function percent(rate: number): string {
  const value = rate * 100;
  if (value > 0 && value < 1) return value < 0.1 ? 'under 0.1 %' : `${value.toFixed(1)} %`;
  if (value > 99 && value < 100) return `${(Math.floor(value * 10) / 10).toFixed(1)} %`;
  return `${Math.round(value)} %`;
}

/** A time relative to now, with the absolute one in its title. */
export function ago(iso: string, now: number): Html {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return html`${iso}`;
  return html`<time datetime="${new Date(at).toISOString()}" title="${absolute(at)}">${relative(at, now)}</time>`;
}

/** "2026-11-17 15:04:05 UTC" */
export function absolute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function relative(at: number, now: number): string {
  const distance = now - at;
  const size = Math.abs(distance);
  if (size < 10 * SECOND) return 'just now';
  if (size >= 60 * DAY) return new Date(at).toISOString().slice(0, 10);
  const text = largestUnit(size);
  return distance > 0 ? `${text} ago` : `in ${text}`;
}

function largestUnit(size: number): string {
  if (size < MINUTE) return counted(Math.floor(size / SECOND), 'second');
  if (size < HOUR) return counted(Math.floor(size / MINUTE), 'minute');
  if (size < DAY) return counted(Math.floor(size / HOUR), 'hour');
  return counted(Math.floor(size / DAY), 'day');
}

/** The day of the week a week before, as in "than last Tuesday". */
export function weekday(at: number): string {
  return new Date(at).toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' });
}

/** The beginning of a digest or a commit. The rest is in its title. */
export function short(hash: string, length = 12): Html {
  return html`<code title="${hash}">${hash.slice(0, length)}</code>`;
}
