import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Input, Select } from '../../blocks/field.tsx';
import { isPerson, nameOfEntity } from '../../data/names.ts';
import { entitiesQuery } from '../../data/queries.ts';
import { given } from '../../data/search-values.ts';

const route = getRouteApi('/agents/$agentId');
/** As sessions without a person know theirs. */
const NOBODY = 'troupe:nobody';
const OTHER = ' other';

/** Whose memories or goals are shown: those for all, or those of one person. Kept in the address. */
export function useWhose(): { user?: string } {
  const { user } = route.useSearch();
  return user ? { user } : {};
}

export function Whose() {
  const { user } = route.useSearch();
  const navigate = route.useNavigate();
  const { data } = useQuery(entitiesQuery);
  const people = (data ?? []).filter((entity) => isPerson(entity) && entity.externalId);
  const isKnown = !user || user === NOBODY || people.some(({ externalId }) => externalId === user);
  const [writes, setWrites] = useState(false);
  const [text, setText] = useState(user ?? '');
  useEffect(() => setText(user ?? ''), [user]);
  const choose = (next: string | undefined) =>
    void navigate({ search: (now) => given({ ...now, user: next }), replace: true });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Select
        aria-label="Whose"
        className="max-w-64"
        value={writes || !isKnown ? OTHER : (user ?? '')}
        onChange={({ target }) => {
          setWrites(target.value === OTHER);
          if (target.value !== OTHER) choose(target.value || undefined);
        }}
      >
        <option value="">Kept for all</option>
        <option value={NOBODY}>Of those who were not named</option>
        {people.map((person) => (
          <option key={person.id} value={person.externalId!}>
            Of {nameOfEntity(person)}
          </option>
        ))}
        <option value={OTHER}>Of another person…</option>
      </Select>
      {(writes || !isKnown) && (
        <form
          className="flex items-center gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            setWrites(false);
            choose(text.trim() || undefined);
          }}
        >
          <Input
            aria-label="The person's name in your system"
            placeholder="Name in your system"
            maxLength={500}
            value={text}
            onChange={({ target }) => setText(target.value)}
            className="max-w-48"
          />
          <Button type="submit" size="small">
            Show
          </Button>
        </form>
      )}
    </div>
  );
}
