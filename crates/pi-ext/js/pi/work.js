// Work the program does for an extension: it can be cancelled, and asks JavaScript back while it goes on.
import { call, FIRST_NUMBER, request } from "pi:host";
import { forget, signalOf } from "pi:pi/signals";

const works = new Map();
let last = FIRST_NUMBER;

// Keeps functions the program may ask; returns the number it knows them by.
export function keep(handlers) {
  works.set(++last, handlers);
  return last;
}

// Drops them.
export function release(number) {
  works.delete(number);
}

// Begins work with functions the program may ask meanwhile. An abort cancels it; how it ends then is the work's matter.
export async function perform(method, args, handlers = {}, signal = undefined) {
  const number = keep(handlers);
  const cancel = () => call("work.cancel", { number });
  try {
    const done = request(method, { ...args, number });
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
    return await done;
  } finally {
    signal?.removeEventListener("abort", cancel);
    release(number);
  }
}

// Called by the program: asks one of the functions of a work. Nobody answers for work that is over.
export async function serve(number, name, args, signalId) {
  const handler = works.get(number)?.[name];
  if (!handler) return null;
  try {
    return (await handler(args, signalOf(signalId), signalId)) ?? null;
  } finally {
    if (signalId !== null && signalId !== undefined) forget(signalId);
  }
}
