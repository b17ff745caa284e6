// The Authorization header: a bearer token, else the user and password of the URL. A token from a file may
// end in a line break, which no header may contain, so it is trimmed. An empty token is ignored.
export function authorization(url: URL, given: string | undefined): Record<string, string> {
  const token = given?.trim();
  if (token) return { authorization: `Bearer ${token}` };
  if (!url.username && !url.password) return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}
