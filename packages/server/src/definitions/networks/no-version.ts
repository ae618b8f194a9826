import { Refusal } from '../../base/index.ts';

export function noVersion(version: number): Refusal {
  return new Refusal('not_found', 'version_not_found', `The network has no version ${version}.`, {
    hint: 'GET …/versions lists those that it has.',
  });
}
