const LOCAL = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Whether a request that reached this machine's own address was also meant for it. A page of a stranger that is open in
 * a browser here can send requests, under a name of its own that leads here (then Host tells) or across (then Origin
 * tells). And a tool of any project can have a server of this machine ask: Via tells.
 */
export function isFromThisMachine(headers: Headers): boolean {
  const host = headers.get('host');
  const origin = headers.get('origin');
  if (headers.has('via')) return false;
  return (host === null || isLocal(`http://${host}`)) && (origin === null || isLocal(origin));
}

function isLocal(address: string): boolean {
  return URL.canParse(address) && LOCAL.test(new URL(address).hostname);
}
