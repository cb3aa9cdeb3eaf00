// Serializes changes to the same file.
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

// Runs a change after all earlier changes to the same file have finished.
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
