import { useState } from 'react';

const HEARD = 600;

interface HeardMessage {
  id: string;
  name: string;
  text: string;
}

/** Says a message once, when it is whole: those who listen do not hear every piece, nor what was there when they came. */
export function Announcer({ said }: { said: HeardMessage | undefined }) {
  const [first] = useState(said?.id);
  const isNew = said !== undefined && said.id !== first && said.text !== '';
  return (
    <p className="troupe-hidden" aria-live="polite">
      {isNew && `${said.name}: ${said.text.slice(0, HEARD)}`}
    </p>
  );
}
