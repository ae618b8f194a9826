/** Whether one release precedes another by the rules of Semantic Versioning: 1.0.0-beta.2 < 1.0.0-beta.10 < 1.0.0 < 1.0.1. */
export function isLowerRelease(release: string, than: string): boolean {
  const [one, other] = [parse(release), parse(than)];
  return (compareParts(one.core, other.core) || comparePreReleases(one.pre, other.pre)) < 0;
}

function parse(release: string): { core: string[]; pre: string[] } {
  const [version = ''] = release.split('+'); // build metadata has no precedence
  const dash = version.indexOf('-');
  const core = dash < 0 ? version : version.slice(0, dash);
  return { core: core.split('.'), pre: dash < 0 ? [] : version.slice(dash + 1).split('.') };
}

/** A pre-release precedes its release. */
function comparePreReleases(one: string[], other: string[]): number {
  if (one.length === 0 || other.length === 0) return other.length - one.length;
  return compareParts(one, other);
}

function compareParts(one: string[], other: string[]): number {
  for (let index = 0; index < Math.min(one.length, other.length); index++) {
    const order = compareIdentifiers(one[index]!, other[index]!);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

/** Numbers by value and before words, words by their characters. */
function compareIdentifiers(one: string, other: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (isNumber && isOtherNumber) return Math.sign(Number(one) - Number(other));
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return one < other ? -1 : one > other ? 1 : 0;
}
