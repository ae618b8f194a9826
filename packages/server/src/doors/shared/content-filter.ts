/** The error of a run whose answer the provider's filter stopped; `advice` says what the caller of this door can do. */
export function contentFiltered(advice: string) {
  return {
    code: 'content_filter',
    message: `The provider’s filter stopped the answer before its first word. ${advice}`,
    retryable: false,
  };
}
