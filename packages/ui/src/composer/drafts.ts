/** What was written and not sent, for as long as the tab is open: also after a reload, and while something else is shown. */

const nameOf = (draft: string) => `troupe draft ${draft}`;

export function draftOf(draft: string): string {
  try {
    return sessionStorage.getItem(nameOf(draft)) ?? '';
  } catch {
    // A page may be forbidden to keep anything.
    return '';
  }
}

export function keepDraft(draft: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(nameOf(draft));
    else sessionStorage.setItem(nameOf(draft), text);
  } catch {
    // Or there is no room: then it is kept by the field alone.
  }
}
