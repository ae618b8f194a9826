import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

/**
 * Keeps what is on the page true: lists are asked again when the server says that their noun changed. Where it does not say so, while the page
 * is seen, every few seconds.
 */
export function useLive(noun: string, everyMs = 3_000): void {
  const client = useQueryClient();
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') void client.invalidateQueries({ queryKey: [noun] });
    };
    const timer = setInterval(look, everyMs);
    return () => clearInterval(timer);
  }, [client, noun, everyMs]);
}
