import ipaddr from 'ipaddr.js';
import { TroupeError } from '../base/index.ts';

/** Answers to machines of its cloud and to nobody else, though the address looks like any other. */
const INTERNAL = new Set(['168.63.129.16']);
/** All of IPv6 that anybody on the internet has an address in. */
const GIVEN_OUT = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether an address belongs to a machine of the internet, and not to this one, its network or something in between. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  // Everything that has another address in it (mapped, 6to4, NAT64, …) is another range, so it is refused as a whole. What lies
  // outside of the part of IPv6 that was given out has no range, and may be an old form of an IPv4 address, such as ::7f00:1.
  if (parsed.kind() === 'ipv6' && !parsed.match(GIVEN_OUT)) return false;
  return parsed.range() === 'unicast' && !INTERNAL.has(parsed.toString());
}

const LONGEST = 8_000;

type Rule = (host: string, port: number, address: string | null) => boolean;

/**
 * What may be reached although it is not public. An entry is a host, an address or a range, with a port where only that one is
 * meant: `intranet.example`, `10.0.0.5:8080`, `[fd00::1]:443`, `10.1.0.0/16`. A host lets through whatever it resolves to; an
 * address or a range whatever resolves to it.
 */
export class AllowList {
  readonly #rules: Rule[];

  constructor(entries: readonly string[]) {
    this.#rules = entries.map((entry) => {
      const rule = ruleOf(entry);
      if (!rule) throw new Error(`${JSON.stringify(entry)} is no host, address or range`);
      return rule;
    });
  }

  /** `address` is what the host resolved to; null while that is not known. */
  has(host: string, port: number, address: string | null): boolean {
    return this.#rules.some((rule) => rule(host, port, address));
  }
}

export function isAllowEntry(entry: string): boolean {
  return ruleOf(entry) !== null;
}

function ruleOf(entry: string): Rule | null {
  if (ipaddr.isValidCIDR(entry)) {
    const [network, bits] = ipaddr.parseCIDR(entry);
    return (host, _port, address) =>
      [host, address].some((text) => {
        if (text === null || !ipaddr.isValid(text)) return false;
        const one = ipaddr.process(text);
        return one.kind() === network.kind() && one.match(network, bits);
      });
  }
  const bare = ipaddr.IPv6.isValid(entry) ? `[${entry}]` : entry;
  const given = /^(\[[^\]]+\]|[^*:/?#@%\\[\]\s]+)(?::(\d{1,5}))?$/.exec(bare);
  // As an address of the web writes it: lower case, in ASCII, numbers in their usual form.
  const host = given && URL.canParse(`http://${given[1]}/`) ? hostOf(new URL(`http://${given[1]}/`)) : null;
  if (!host) return null;
  const wanted = given![2] === undefined ? null : Number(given![2]);
  if (wanted !== null && (wanted < 1 || wanted > 65_535)) return null;
  const literal = ipaddr.isValid(host) ? ipaddr.process(host).toNormalizedString() : null;
  return (name, port, address) => {
    if (wanted !== null && wanted !== port) return false;
    if (literal === null) return name === host;
    return [name, address].some(
      (text) =>
        text !== null && ipaddr.isValid(text) && ipaddr.process(text).toNormalizedString() === literal,
    );
  };
}

/** Without the brackets of an IPv6 address and without the dot that may end a name. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

export function isAddress(host: string): boolean {
  return ipaddr.isValid(host);
}

/** Text as an address of the web; throws where it is none, or one that names a user. */
export function webAddress(text: string, base?: URL): URL {
  if (text.length > LONGEST || !URL.canParse(text, base?.href)) {
    throw new TroupeError(
      'address_invalid',
      `${JSON.stringify(text.slice(0, 200))} is no address of the web.`,
    );
  }
  const url = new URL(text, base?.href);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TroupeError(
      'address_invalid',
      `An address begins with http: or https:, not with ${url.protocol}`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new TroupeError('address_invalid', 'An address must not hold a user name or a password.');
  }
  return url;
}
