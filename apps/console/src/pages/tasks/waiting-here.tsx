import { useQuery } from '@tanstack/react-query';
import { useLive } from '../../data/live.ts';
import { WaitingCallCard } from '../inbox/call-card.tsx';
import { callsOfRunQuery } from '../inbox/queries.ts';

/** Calls of a run that wait for somebody, to be settled where one is. */
export default function WaitingHere({ runId }: { runId: string }) {
  useLive('inbox');
  const { data } = useQuery(callsOfRunQuery(runId));
  // The page of the task shows its question.
  return data
    ?.filter(({ waitsFor }) => waitsFor !== 'answer')
    .map((call) => <WaitingCallCard key={call.callId} call={call} />);
}
