/** Numbers that are the same for the same seed; the generator of the simulation. */
export { Random } from '../../packages/server/test/simulation/random.ts';
