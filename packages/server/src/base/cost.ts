/** Costs are stored in millionths of the unit of the prices. */
export const MILLIONTHS = 1_000_000;
