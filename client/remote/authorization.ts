// The header that says who asks: a token, else the user and password of the address. A token that was read from a file may
// have a line break at its end, which no header can hold; one that is nothing else is none.
export function authorization(url: URL, given: string | undefined): Record<string, string> {
  const token = given?.trim();
  if (token) return { authorization: `Bearer ${token}` };
  if (!url.username && !url.password) return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}
