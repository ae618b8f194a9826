/** Migrates the database that the first argument names, and prints the migrations that it applied. */
import { migrate } from '../../src/store/migrate.ts';

console.log(JSON.stringify(await migrate(process.argv[2]!)));
