// The login page, and what a browser sees instead of a page that it may not have.
import { type Html, html, NOTHING } from '../../../core/html/html.ts';
import { callout } from './parts.ts';
import { document } from './shell.ts';

/** `next` is where to go after the login: a path of this server. */
export function loginPage(next: string, failure?: string): string {
  const failed = failure === undefined ? NOTHING : callout('bad', html`<p role="alert">${failure}</p>`);
  const content = html`<div class="login">
<h1>Log in</h1>
<p class="lead">Use a token of this server that may read: the one that your build uses will do.</p>
${failed}
<form method="post" action="/login">
<input type="hidden" name="next" value="${next}">
<label>Token<input type="password" name="token" required autofocus autocomplete="current-password" spellcheck="false"></label>
<button class="main" type="submit">Log in</button>
</form>
<p class="note">The browser stays logged in for at most 12 hours. It can read these pages, and never write to the cache.
<code>assay token create NAME --namespace TEAM --rights read,overview --tokens FILE</code> on the server makes a token that also sees the runs of everything below TEAM, with the file that the server uses.</p>
</div>`;
  return document({ title: 'Log in', path: '/login', content }, undefined);
}

/**
 * Browsers send the cookie of a login only with requests that begin on this server's own pages. After a link
 * from elsewhere, such as from the log of a CI job, this page begins one.
 */
export function continuePage(next: string): string {
  const content = html`<meta http-equiv="refresh" content="0; url=${next}">
<h1>One moment</h1><p>If nothing happens, <a href="${next}">go on</a>.</p>`;
  return document({ title: 'One moment', path: '', content }, undefined);
}

export function errorPage(title: string, message: string, whatToDo: string, code: string): string {
  const content: Html = html`<h1>${title}</h1>
<p class="lead">${message}</p>
<p>${whatToDo}</p>
<p class="note"><code>${code}</code> · <a href="/">Go to the first page</a></p>`;
  return document({ title, path: '', content }, undefined);
}

/** A path of this server, for a redirect. Anything else becomes the first page. */
export function ownPath(text: string | undefined): string {
  if (text === undefined || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return '/';
  return text.startsWith('/login') ? '/' : text;
}
