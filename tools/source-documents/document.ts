/** One requirement of a source document. */
export interface Requirement {
  id: string;
  /** What must hold, in our own words. */
  is: string;
  /** Tests that show it, as `<file> > <title>`. */
  tests: readonly string[];
  /** The missing part, if the requirement is not met yet. */
  open?: string;
}

export interface Section {
  title: string;
  requirements: readonly Requirement[];
}

export interface SourceDocument {
  number: string;
  title: string;
  sections: readonly Section[];
}

/** A requirement that holds. */
export function shown(id: string, is: string, ...tests: string[]): Requirement {
  return { id, is, tests };
}

/** A requirement that does not hold yet. */
export function open(id: string, is: string, why: string, ...tests: string[]): Requirement {
  return { id, is, tests, open: why };
}
