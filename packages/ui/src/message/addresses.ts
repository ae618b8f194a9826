/** What text that somebody else wrote may lead to, and what of it may be loaded without asking. */

const LINKS = ['http:', 'https:', 'mailto:', 'tel:'];

/** The address of a link, or null where following it could run something. */
export function safeLink(address: string | null | undefined): string | null {
  if (!address) return null;
  if (/^#/.test(address)) return address;
  const url = parse(address);
  return url && LINKS.includes(url.protocol) ? address : null;
}

/**
 * The address of a picture that can be shown without telling anybody: it is in the address itself, was made by this page,
 * or lies on the page's own origin. SVG in a data address is a picture too: scripts in it do not run in an `img`.
 */
export function localImage(address: string | null | undefined): string | null {
  if (!address) return null;
  const url = parse(address);
  if (!url) return null;
  if (url.protocol === 'data:') return /^data:image\//i.test(address.trim()) ? address : null;
  if (url.protocol === 'blob:') return address;
  return url.origin === globalThis.location?.origin && url.origin !== 'null' ? address : null;
}

function parse(address: string): URL | null {
  try {
    return new URL(address, globalThis.location?.href);
  } catch {
    return null;
  }
}
