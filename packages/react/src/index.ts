/**
 * react: hooks. What is shown is kept up to date by streams that are taken up again after a lost connection.
 * Imports: sdk.
 */
export type { Api } from '@troupe/sdk';
