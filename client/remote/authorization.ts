// The header that says who asks: a token, else the user and password of the address.
export function authorization(url: URL, token: string | undefined): Record<string, string> {
  if (token) return { authorization: `Bearer ${token}` };
  if (!url.username && !url.password) return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}
