// Abort signals of operations that the program can cancel.
const controllers = new Map();

// Returns the signal with this ID, creating it on first use.
export function signalOf(id) {
  if (id === undefined || id === null) return undefined;
  let controller = controllers.get(id);
  if (!controller) controllers.set(id, (controller = new AbortController()));
  return controller.signal;
}

// Called by the program to cancel an operation.
export function abort(id) {
  controllers.get(id)?.abort();
}

// Called when an operation is finished.
export function releaseSignal(id) {
  controllers.delete(id);
}
