import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { secretsQuery } from '../data/queries.ts';
import { Tag } from './tag.tsx';

/** The secrets that texts name as `{{secrets.NAME}}`, and which of them are not set yet. */
export function SecretsNamed({ texts }: { texts: unknown }) {
  const found = JSON.stringify(texts ?? null).matchAll(/\{\{\s*secrets\.([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}/g);
  const names = [...new Set([...found].map(([, name]) => name!))];
  // Not everybody may see which secrets there are; then nothing is said of them.
  const { data } = useQuery({ ...secretsQuery, enabled: names.length > 0 });
  if (names.length === 0) return null;
  const isKnown = (name: string) => data?.some((secret) => secret.name === name);
  return (
    <p className="flex flex-wrap items-center gap-2 text-xs text-muted">
      Secrets:
      {names.map((name) => (
        <Tag key={name} tone={!data ? 'quiet' : isKnown(name) ? 'good' : 'warn'}>
          {name}
          {data && !isKnown(name) && ': not set'}
        </Tag>
      ))}
      {data && !names.every(isKnown) && (
        <Link
          to={'/keys' as string}
          search={{ tab: 'secrets' } as never}
          className="text-accent-strong underline underline-offset-2"
        >
          Set it
        </Link>
      )}
    </p>
  );
}
