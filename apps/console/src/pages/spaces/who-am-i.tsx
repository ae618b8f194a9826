import { Avatar } from '@troupe/ui';
import { Check, ChevronDown, UserPlus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Menu, MenuItem } from '../../blocks/menu.tsx';
import { useMe } from '../../data/me.ts';
import { nameOfEntity } from '../../data/names.ts';
import { changeSettings } from '../../data/settings.ts';
import { NewPerson } from './new-person.tsx';

/** Whom one speaks for. A key may speak for anybody; with the token of a person there is nothing to choose. */
export function WhoAmI() {
  const me = useMe();
  const [asks, setAsks] = useState(false);
  if (!me.canSwitch) return null;
  const name = me.person ? nameOfEntity(me.person) : null;
  return (
    <>
      <Menu
        trigger={
          <Button className="max-w-52">
            {me.person && <Avatar name={name} id={me.person.id} size="small" />}
            <span className="truncate" title={name ?? undefined}>
              {name ? `You are ${name}` : 'Who are you?'}
            </span>
            <ChevronDown size={14} aria-hidden="true" className="shrink-0" />
          </Button>
        }
      >
        <div className="max-h-72 overflow-y-auto">
          {me.people?.map((person) => (
            <MenuItem
              key={person.id}
              icon={<Avatar name={nameOfEntity(person)} id={person.id} size="small" />}
              onSelect={() => changeSettings({ entityId: person.id })}
            >
              <span className="max-w-48 flex-1 truncate">{nameOfEntity(person)}</span>
              {person.id === me.entityId && <Check size={14} aria-label="That is you now" />}
            </MenuItem>
          ))}
        </div>
        <MenuItem icon={UserPlus} onSelect={() => setAsks(true)}>
          Create person…
        </MenuItem>
      </Menu>
      {asks && (
        <NewPerson
          onClose={() => setAsks(false)}
          onMade={(person) => {
            changeSettings({ entityId: person.id });
            setAsks(false);
          }}
        />
      )}
    </>
  );
}
