// diagnostics_channel.
const channels = new Map();

export class Channel {
  #subscribers = new Set();
  constructor(name) {
    this.name = name;
  }
  get hasSubscribers() {
    return this.#subscribers.size > 0;
  }
  subscribe(listener) {
    this.#subscribers.add(listener);
  }
  unsubscribe(listener) {
    return this.#subscribers.delete(listener);
  }
  publish(message) {
    for (const listener of this.#subscribers) listener(message, this.name);
  }
}
export function channel(name) {
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}
export function hasSubscribers(name) {
  return channel(name).hasSubscribers;
}
export function subscribe(name, listener) {
  channel(name).subscribe(listener);
}
export function unsubscribe(name, listener) {
  return channel(name).unsubscribe(listener);
}
export function tracingChannel(name) {
  const make = (part) => channel(`tracing:${name}:${part}`);
  return { start: make("start"), end: make("end"), asyncStart: make("asyncStart"), asyncEnd: make("asyncEnd"), error: make("error"), hasSubscribers: false, traceSync: (callback, context, self, ...args) => callback.apply(self, args), tracePromise: (callback, context, self, ...args) => callback.apply(self, args) };
}
export default { Channel, channel, hasSubscribers, subscribe, unsubscribe, tracingChannel };
