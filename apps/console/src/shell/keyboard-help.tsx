import { Dialog } from '../blocks/dialog.tsx';
import { allPlaces } from './navigation.ts';

export default function KeyboardHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Keyboard">
      <dl className="grid grid-cols-2 gap-2 text-sm">
        {allPlaces.map(({ key, label }) => (
          <div key={label} className="flex justify-between">
            <dt>{label}</dt>
            <dd>g {key}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
