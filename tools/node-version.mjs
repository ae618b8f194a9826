// Loaded before a program of ours (`node --import`), in JavaScript that any Node can read: an old one fails on the
// first .ts file with a message that helps nobody.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`error: Troupe needs Node 22.19 or later; this is ${process.versions.node}.`);
  console.error(
    '  `npm install` brings a Node of its own, which npm scripts use; run it with its scripts allowed.',
  );
  process.exit(1);
}
