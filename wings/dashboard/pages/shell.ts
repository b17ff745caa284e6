// The frame of every page: the head, the navigation, the login, the footer.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { VERSION } from '../../../core/version.ts';
import { assetUrl } from './assets.ts';

/** The pages in the navigation. */
const PAGES = [
  ['/', 'Now'],
  ['/runs', 'Runs'],
  ['/runs/trends', 'Trends'],
  ['/misses', 'Misses'],
  ['/hermeticity', 'Hermeticity'],
  ['/storage', 'Storage'],
  ['/setup', 'Set up'],
] as const;

export interface Viewer {
  /** The name of the token. */
  readonly name: string;
  /** Undefined if it sees the runs of all namespaces. */
  readonly sees?: Scope | undefined;
  /** A cookie says who it is, so there is something to log out of. */
  readonly isLoggedIn: boolean;
}

/** Whose runs a token sees. */
interface Scope {
  readonly namespaces: readonly string[];
  /** Its namespace, if it does not see the runs of those below. */
  readonly notBelow?: string;
  /** It sees the runs of namespaces below, but nothing of what they stored and printed. */
  readonly hidesContent?: true;
}

export interface PageContent {
  readonly title: string;
  /** The path of its entry in the navigation. */
  readonly path: string;
  readonly content: Html;
  /** The page draws charts. */
  readonly hasCharts?: boolean;
}

export function document(
  { title, path, content, hasCharts = false }: PageContent,
  viewer: Viewer | undefined,
): string {
  const charts = hasCharts
    ? html`<link rel="stylesheet" href="${assetUrl('uplot.css')}"><script defer src="${assetUrl('uplot.js')}"></script>`
    : NOTHING;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Assay</title>
<link rel="icon" href="${assetUrl('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetUrl('style.css')}">
${charts}<script type="module" src="${assetUrl('script')}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="/"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 1.5 22 7v10l-10 5.5L2 17V7z"/><path class="mark" d="m7 12.5 3.5 3.5L17 9"/></svg>Assay</a>
${viewer ? navigation(path) : NOTHING}
${viewer?.isLoggedIn ? logout(viewer) : NOTHING}
</header>
<main id="content" tabindex="-1">
${viewer?.sees ? scope(viewer.name, viewer.sees) : NOTHING}${content}
</main>
<footer><p>Assay ${VERSION}${elsewhere(viewer)}</p></footer>
</body>
</html>
`;
  return page.text;
}

/** Only what this browser may open: the cookie of a login is not good for /metrics. */
function elsewhere(viewer: Viewer | undefined): Html[] {
  const api = html` · <a href="/api/v1/openapi.json">JSON API</a>`;
  const status = html` · <a href="/status">Status</a>`;
  const metrics = html` · <a href="/metrics">Metrics</a>`;
  return [...(viewer ? [api] : []), status, ...(viewer && !viewer.isLoggedIn ? [metrics] : [])];
}

function navigation(current: string): Html {
  const items = PAGES.map(([path, title]) =>
    path === current
      ? html`<li><a href="${path}" aria-current="page">${title}</a></li>`
      : html`<li><a href="${path}">${title}</a></li>`,
  );
  return html`<nav aria-label="Pages"><ul>${items}</ul></nav>`;
}

/** Without this line, an empty page of such a token would say that the server is empty. */
function scope(name: string, { namespaces, notBelow, hidesContent }: Scope): Html {
  const below =
    notBelow === undefined
      ? NOTHING
      : html` What lies below <code>${notBelow}</code> is not shown: a token with the right <code>overview</code> sees it.`;
  const content = hidesContent
    ? html` What they stored and printed below it is not shown: that needs <code>results:read</code> and <code>blobs:read</code> there.`
    : NOTHING;
  return html`<p class="note">The token ${name} sees <code>${namespaces.join(', ')}</code>, and nothing else of this server.${below}${content}</p>`;
}

function logout({ name }: Viewer): Html {
  return html`<form class="logout" method="post" action="/logout"><span>${name}</span><button type="submit">Log out</button></form>`;
}
