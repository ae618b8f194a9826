import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { FileText } from '../../blocks/file-text.tsx';
import { FormDialog } from '../../blocks/form.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';

/** Imports an agent from a file that is chosen or pasted. */
export function ImportAgent({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  return (
    <FormDialog
      onClose={onClose}
      title="Import agent"
      wide
      submit="Import agent"
      isIncomplete={text.trim() === ''}
      act={() => troupe.agents.importOne({ body: text })}
      changes="agents"
      onDone={(agent) => {
        say(`${agent.name} is at version ${agent.version}.`);
        void navigate({ to: '/agents/$agentId', params: { agentId: agent.id } });
      }}
    >
      <p className="text-sm text-muted">
        Markdown with front matter, YAML or JSON, as exported. The file replaces the whole definition of the
        agent with its name, or creates that agent.
      </p>
      <FileText
        accept=".md,.markdown,.yaml,.yml,.json,.txt"
        placeholder={'---\nname: Grace\ncapabilities:\n  - id: current_time\n---\n\nYou are Grace.'}
        value={text}
        onChange={setText}
      />
    </FormDialog>
  );
}
