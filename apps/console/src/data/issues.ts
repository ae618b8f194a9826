import { ApiError } from '@troupe/sdk';

/** What the server found wrong with a field, or within it: `limits` takes what is said of `limits.steps` too. */
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
  return error instanceof ApiError ? error.issues : [];
}

/** The words of an error where no field of the form shows them. */
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
