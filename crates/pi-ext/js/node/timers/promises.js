// timers/promises.
function abortError(signal) {
  return Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR", cause: signal.reason });
}

function wait(delay, value, options) {
  const signal = options?.signal;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortError(signal));
      return;
    }
    const stop = () => {
      clearTimeout(timer);
      reject(abortError(signal));
    };
    const timer = globalThis.setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve(value);
    }, delay);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

export function setTimeout(delay, value, options) {
  return wait(delay, value, options);
}

export function setImmediate(value, options) {
  return wait(0, value, options);
}

export async function* setInterval(delay, value, options) {
  for (;;) yield await wait(delay, value, options);
}

export const scheduler = { wait: (delay, options) => wait(delay, undefined, options), yield: () => wait(0) };
export default { setTimeout, setImmediate, setInterval, scheduler };
