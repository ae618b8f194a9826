import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { allPlaces } from './navigation.ts';

/** Find a place or a thing, and go there. */
export default function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const navigate = useNavigate();
  const go = (to: string) => {
    onClose();
    void navigate({ to });
  };
  return (
    <Command.Dialog open onOpenChange={(open) => !open && onClose()} label="Find or do">
      <Command.Input placeholder="Find or do…" />
      <Command.List>
        <Command.Empty>Nothing found.</Command.Empty>
        {allPlaces.map(({ to, label, icon: Icon }) => (
          <Command.Item key={to} onSelect={() => go(to)}>
            <Icon size={16} aria-hidden="true" /> {label}
          </Command.Item>
        ))}
        <Command.Item
          onSelect={() => {
            onClose();
            onHelp();
          }}
        >
          Keyboard
        </Command.Item>
      </Command.List>
    </Command.Dialog>
  );
}
