// Blob, File and FormData.
import { bytesOf } from "pi:web/encoding";

const bytesKey = Symbol("bytes");

export function concat(parts) {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

export class Blob {
  constructor(parts = [], options = {}) {
    const chunks = [...parts].map((part) =>
      part instanceof Blob ? part[bytesKey] : typeof part === "object" && part !== null && (ArrayBuffer.isView(part) || part instanceof ArrayBuffer) ? bytesOf(part) : new TextEncoder().encode(String(part)),
    );
    Object.defineProperty(this, bytesKey, { value: concat(chunks) });
    Object.defineProperty(this, "type", { value: String(options.type ?? "").toLowerCase(), enumerable: true });
  }
  get size() {
    return this[bytesKey].length;
  }
  slice(start = 0, end = this.size, type = "") {
    return new Blob([this[bytesKey].slice(start, end)], { type });
  }
  async arrayBuffer() {
    return this[bytesKey].slice().buffer;
  }
  async bytes() {
    return this[bytesKey].slice();
  }
  async text() {
    return new TextDecoder().decode(this[bytesKey]);
  }
  stream() {
    const bytes = this[bytesKey];
    return new ReadableStream({
      pull(controller) {
        if (bytes.length > 0) controller.enqueue(bytes.slice());
        controller.close();
      },
    });
  }
  get [Symbol.toStringTag]() {
    return "Blob";
  }
}

export class File extends Blob {
  constructor(parts, name, options = {}) {
    super(parts, options);
    this.name = String(name);
    this.lastModified = options.lastModified ?? Date.now();
    this.webkitRelativePath = "";
  }
  get [Symbol.toStringTag]() {
    return "File";
  }
}

export function blobBytes(blob) {
  return blob[bytesKey];
}

function entryValue(value, filename) {
  if (!(value instanceof Blob)) return String(value);
  if (value instanceof File && filename === undefined) return value;
  return new File([value], filename ?? "blob", { type: value.type });
}

export class FormData {
  #entries = [];

  append(name, value, filename) {
    this.#entries.push([String(name), entryValue(value, filename)]);
  }
  set(name, value, filename) {
    const index = this.#entries.findIndex((entry) => entry[0] === String(name));
    const entry = [String(name), entryValue(value, filename)];
    this.#entries = this.#entries.filter((known, position) => known[0] !== entry[0] || position === index);
    if (index < 0) this.#entries.push(entry);
    else this.#entries[this.#entries.findIndex((known) => known[0] === entry[0])] = entry;
  }
  delete(name) {
    this.#entries = this.#entries.filter((entry) => entry[0] !== String(name));
  }
  get(name) {
    return this.#entries.find((entry) => entry[0] === String(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#entries.filter((entry) => entry[0] === String(name)).map((entry) => entry[1]);
  }
  has(name) {
    return this.#entries.some((entry) => entry[0] === String(name));
  }
  forEach(callback, self) {
    for (const [name, value] of this.#entries) callback.call(self, value, name, this);
  }
  *entries() {
    yield* this.#entries.map(([name, value]) => [name, value]);
  }
  *keys() {
    for (const [name] of this.#entries) yield name;
  }
  *values() {
    for (const [, value] of this.#entries) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  get [Symbol.toStringTag]() {
    return "FormData";
  }
}

// Encodes a form as multipart/form-data.
export function encodeForm(form) {
  const boundary = `----form-${crypto.randomUUID()}`;
  const encoder = new TextEncoder();
  const escape = (text) => text.replace(/\r?\n|\r/g, "%0D%0A").replace(/"/g, "%22");
  const parts = [];
  for (const [name, value] of form) {
    let head = `--${boundary}\r\nContent-Disposition: form-data; name="${escape(name)}"`;
    if (value instanceof Blob) head += `; filename="${escape(value.name)}"\r\nContent-Type: ${value.type || "application/octet-stream"}`;
    parts.push(encoder.encode(`${head}\r\n\r\n`), value instanceof Blob ? blobBytes(value) : encoder.encode(value), encoder.encode("\r\n"));
  }
  parts.push(encoder.encode(`--${boundary}--\r\n`));
  return { bytes: concat(parts), type: `multipart/form-data; boundary=${boundary}` };
}
