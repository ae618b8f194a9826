/** Parts of an address's search to set; what is undefined goes. */
export type SearchChange<Search> = { [Name in keyof Search]?: Search[Name] | undefined };
