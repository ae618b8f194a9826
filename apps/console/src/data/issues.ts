import { ApiError } from '@troupe/sdk';

/** The issues that the server reports at a path or below it: `limits` includes `limits.steps`. */
export function issueAt(error: unknown, path: string): string | undefined {
  const found = issuesOf(error).filter((issue) => issue.path === path || issue.path.startsWith(`${path}.`));
  if (found.length === 0) return undefined;
  return found
    .map((issue) =>
      issue.path === path
        ? sentence(issue.message)
        : `${issue.path.slice(path.length + 1)}: ${issue.message}`,
    )
    .join(' ');
}

export function issuesOf(error: unknown): { path: string; message: string }[] {
  if (!(error instanceof ApiError)) return [];
  if (error.issues.length > 0) return error.issues;
  // `external_id_taken` without issues is about the field `externalId`.
  const field = /^(\w+)_taken$/.exec(error.code)?.[1];
  if (!field) return [];
  return [{ path: field.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase()), message: error.message }];
}

/** The message of an error, unless fields show all of its issues. */
export function restOf(error: unknown, shown: string[]): string | null {
  if (!error) return null;
  const issues = issuesOf(error);
  const isShown = (path: string) => shown.some((one) => path === one || path.startsWith(`${one}.`));
  if (issues.length > 0 && issues.every(({ path }) => isShown(path))) return null;
  return messageOf(error);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
