/**
 * A stand-in for Troupe in a process of its own: holds the home given as its first argument until SIGTERM.
 * Prints one line of JSON: what it got, or the error it ended with (exit code 1).
 */
import { StartupError } from '../../src/base/index.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { startEmbedded } from '../../src/store/embedded/index.ts';

const [home, binaries] = process.argv.slice(2);
try {
  const postgres = await startEmbedded({
    home: home!,
    logger: silentLogger,
    ...(binaries ? { binaries } : {}),
  });
  process.once('SIGTERM', () => postgres.stop().then(() => process.exit(0)));
  console.log(JSON.stringify({ url: postgres.url, version: postgres.version, adopted: postgres.adopted }));
} catch (error) {
  if (!(error instanceof StartupError)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message, hint: error.hint }));
  process.exitCode = 1;
}
