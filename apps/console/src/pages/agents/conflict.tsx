import type { Api } from '@troupe/sdk';
import { Conflict } from '../../blocks/conflict.tsx';
import { TextDiff } from '../../blocks/text-diff.tsx';
import { definitionOf, restAsText } from './definition.ts';

/** An agent that two people saved: the prompt is compared line by line, and the rest as JSON. */
export function AgentConflict({
  theirs,
  mine,
  ...rest
}: {
  theirs: Api.Agent;
  /** Their version with the fields that I changed. */
  mine: Api.AgentDefinition;
  busy: boolean;
  onClose: () => void;
  onTakeTheirs: () => void;
  onSaveMine: () => void;
}) {
  const there = definitionOf(theirs);
  return (
    <Conflict what="agent" version={theirs.version} {...rest}>
      {there.systemPrompt !== mine.systemPrompt && (
        <TextDiff before={there.systemPrompt} after={mine.systemPrompt} label="Your change of the prompt" />
      )}
      {restAsText(there) !== restAsText(mine) && (
        <TextDiff before={restAsText(there)} after={restAsText(mine)} label="Your change of the rest" />
      )}
    </Conflict>
  );
}
