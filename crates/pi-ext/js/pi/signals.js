// The abort signals of work the program can cancel.
const controllers = new Map();

// Returns the signal of an id, made when first asked for; none without an id.
export function signalOf(id) {
  if (id === undefined || id === null) return undefined;
  let controller = controllers.get(id);
  if (!controller) controllers.set(id, (controller = new AbortController()));
  return controller.signal;
}

// Called by the program when the work is cancelled.
export function abort(id) {
  controllers.get(id)?.abort();
}

// Called when the work is over.
export function forget(id) {
  controllers.delete(id);
}
