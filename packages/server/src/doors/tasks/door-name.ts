/** What runs of tasks are known by. */
export const DOOR = 'task';
