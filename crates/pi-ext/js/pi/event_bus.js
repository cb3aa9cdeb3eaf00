// The bus extensions talk to each other on.
import { reportError } from "pi:pi/report";

// Makes a bus; a listener that fails is reported and keeps nobody else from hearing.
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
      return () => channels.set(channel, (channels.get(channel) ?? []).filter((one) => one !== listener));
    },
    clear() {
      channels.clear();
    },
  };
}
