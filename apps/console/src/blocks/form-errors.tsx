import { createContext, type ReactNode, useContext, useEffect, useId, useState } from 'react';
import { issueAt, restOf } from '../data/issues.ts';
import { cx } from './cx.ts';
import { Notice } from './states.tsx';

/** The last error of a form, and the paths whose issues a field shows, by field. */
interface Errors {
  error: unknown;
  paths: Map<string, string>;
}

const Current = createContext<Errors>({ error: null, paths: new Map() });

/** Passes the server's error to the fields within, each of which shows the issues at its own `path`. */
export function FormErrors({ error, children }: { error: unknown; children: ReactNode }) {
  const [paths] = useState(() => new Map<string, string>());
  return <Current value={{ error, paths }}>{children}</Current>;
}

/** The issues at a path of the request body, in words. A field without a path has none. */
export function useIssue(path: string | undefined): string | undefined {
  const { error, paths } = useContext(Current);
  const id = useId();
  useEffect(() => {
    if (path === undefined) return;
    paths.set(id, path);
    return () => void paths.delete(id);
  }, [paths, id, path]);
  return path === undefined ? undefined : issueAt(error, path);
}

/** The server's error, unless fields show all of its issues. */
export function FormError({ children }: { children?: ReactNode }) {
  const { error, paths } = useContext(Current);
  const rest = restOf(error, [...paths.values()]);
  if (!rest) return null;
  return (
    <Notice tone="bad">
      {rest}
      {children}
    </Notice>
  );
}

/** All issues of an error, with their paths. */
export function IssueList({ issues }: { issues: readonly { path: string; message: string }[] }) {
  if (issues.length === 0) return null;
  return (
    <ul className="mt-1 list-disc pl-4">
      {issues.map(({ path, message }) => (
        <li key={path}>
          <code className="font-mono text-xs">{path}</code> {message}
        </li>
      ))}
    </ul>
  );
}

/** The issues at a path, for a group of controls that is no `Field`. */
export function Issue({ path, className = 'mt-1' }: { path: string; className?: string }) {
  const issue = useIssue(path);
  return issue && <p className={cx('text-xs text-bad', className)}>{issue}</p>;
}
