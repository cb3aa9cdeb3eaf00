// Base class of outgoing requests and responses: a stream with headers.
import { Writable } from "node:stream";

export class OutgoingMessage extends Writable {
  #headers = new Map();

  setHeader(name, value) {
    this.#headers.set(name.toLowerCase(), [name, value]);
    return this;
  }
  appendHeader(name, value) {
    const known = this.getHeader(name);
    return this.setHeader(name, known === undefined ? value : [known, value].flat());
  }
  getHeader(name) {
    return this.#headers.get(name.toLowerCase())?.[1];
  }
  hasHeader(name) {
    return this.#headers.has(name.toLowerCase());
  }
  removeHeader(name) {
    this.#headers.delete(name.toLowerCase());
  }
  getHeaders() {
    return Object.fromEntries([...this.#headers].map(([name, [, value]]) => [name, value]));
  }
  getHeaderNames() {
    return [...this.#headers.keys()];
  }
  getRawHeaderNames() {
    return [...this.#headers.values()].map(([name]) => name);
  }
  // Returns the headers as sent, with one pair per value.
  _headerPairs() {
    return [...this.#headers.values()].flatMap(([name, value]) => [value].flat().map((item) => [name, String(item)]));
  }
}
