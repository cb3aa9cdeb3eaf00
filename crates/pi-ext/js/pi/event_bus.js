// Event bus for communication between extensions.
import { reportError } from "pi:pi/report";

// Creates an event bus. Errors in a listener are reported and do not affect other listeners.
export function createEventBus() {
  const channels = new Map();
  return {
    emit(channel, data) {
      for (const listener of channels.get(channel) ?? []) {
        try {
          Promise.resolve(listener(data)).catch((error) => reportError(undefined, `bus:${channel}`, error));
        } catch (error) {
          reportError(undefined, `bus:${channel}`, error);
        }
      }
    },
    on(channel, listener) {
      channels.set(channel, [...(channels.get(channel) ?? []), listener]);
      return () => channels.set(channel, (channels.get(channel) ?? []).filter((candidate) => candidate !== listener));
    },
    clear() {
      channels.clear();
    },
  };
}
