// Lets changes of one file wait for each other.
import { realpathSync } from "node:fs";
import { resolve } from "node:path";

const queues = new Map();

function keyOf(path) {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

// Runs a change when those of the same file that were asked for before are done.
export function withFileMutationQueue(path, change) {
  const key = keyOf(path);
  const before = queues.get(key) ?? Promise.resolve();
  const result = before.then(change, change);
  const settled = result.then(
    () => {},
    () => {},
  );
  queues.set(key, settled);
  settled.then(() => {
    if (queues.get(key) === settled) queues.delete(key);
  });
  return result;
}
