// Host operations that call back into JavaScript while they run and can be canceled.
import { call, FIRST_ID, request } from "pi:host";
import { releaseSignal, signalOf } from "pi:pi/signals";

const callbacks = new Map();
let last = FIRST_ID;

// Registers functions that the program may call and returns their ID.
export function register(handlers) {
  callbacks.set(++last, handlers);
  return last;
}

export function unregister(number) {
  callbacks.delete(number);
}

// Requests a host operation with callbacks. An abort cancels it; the operation decides how it then completes.
export async function requestWithCallbacks(method, args, handlers = {}, signal = undefined) {
  const number = register(handlers);
  const cancel = () => call("job.cancel", { number });
  try {
    const done = request(method, { ...args, number });
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
    return await done;
  } finally {
    signal?.removeEventListener("abort", cancel);
    unregister(number);
  }
}

// Called by the program to call one of the registered functions. Returns null if the operation is finished.
export async function runCallback(number, name, args, signalId) {
  const handler = callbacks.get(number)?.[name];
  if (!handler) return null;
  try {
    return (await handler(args, signalOf(signalId), signalId)) ?? null;
  } finally {
    if (signalId !== null && signalId !== undefined) releaseSignal(signalId);
  }
}
