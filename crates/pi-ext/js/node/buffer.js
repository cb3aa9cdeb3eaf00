// Buffer.
import { decodeUtf8, encodeUtf8 } from "pi:native";
import { atob, base64Decode, base64Encode, btoa } from "pi:web/encoding";
import { Blob, File } from "pi:web/blob";

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function encodingOf(name) {
  const key = String(name ?? "utf8").toLowerCase();
  const known = { utf8: "utf8", "utf-8": "utf8", hex: "hex", base64: "base64", base64url: "base64url", ascii: "ascii", latin1: "latin1", binary: "latin1", ucs2: "utf16le", "ucs-2": "utf16le", utf16le: "utf16le", "utf-16le": "utf16le" }[key];
  if (!known) throw Object.assign(new TypeError(`Unknown encoding: ${name}`), { code: "ERR_UNKNOWN_ENCODING" });
  return known;
}

function encode(text, encoding) {
  switch (encodingOf(encoding)) {
    case "utf8":
      return encodeUtf8(text.toWellFormed());
    case "hex": {
      const bytes = new Uint8Array(text.length >> 1);
      for (let index = 0; index < bytes.length; index++) {
        const value = Number(`0x${text.slice(index * 2, index * 2 + 2)}`);
        if (Number.isNaN(value)) return bytes.subarray(0, index);
        bytes[index] = value;
      }
      return bytes;
    }
    case "base64":
    case "base64url":
      return base64Decode(text);
    case "utf16le": {
      const bytes = new Uint8Array(text.length * 2);
      for (let index = 0; index < text.length; index++) {
        const code = text.charCodeAt(index);
        bytes[index * 2] = code & 255;
        bytes[index * 2 + 1] = code >> 8;
      }
      return bytes;
    }
    default:
      return Uint8Array.from(text, (character) => character.charCodeAt(0) & 255);
  }
}

function decode(bytes, encoding) {
  switch (encodingOf(encoding)) {
    case "utf8":
      return decodeUtf8(bytes, false);
    case "hex": {
      let text = "";
      for (const byte of bytes) text += HEX[byte];
      return text;
    }
    case "base64":
      return base64Encode(bytes);
    case "base64url":
      return base64Encode(bytes, true);
    case "utf16le": {
      let text = "";
      for (let index = 0; index + 1 < bytes.length; index += 2) text += String.fromCharCode(bytes[index] | (bytes[index + 1] << 8));
      return text;
    }
    default: {
      const mask = encodingOf(encoding) === "ascii" ? 127 : 255;
      let text = "";
      for (const byte of bytes) text += String.fromCharCode(byte & mask);
      return text;
    }
  }
}

function asBuffer(bytes) {
  return Object.setPrototypeOf(bytes, Buffer.prototype);
}

function outOfRange(name, range, value) {
  return Object.assign(new RangeError(`The value of "${name}" is out of range. It must be ${range}. Received ${value}`), { code: "ERR_OUT_OF_RANGE" });
}

function needle(value, encoding) {
  return typeof value === "string" ? encode(value, encoding) : typeof value === "number" ? Uint8Array.of(value & 255) : value;
}

export function Buffer(value, encodingOrOffset, length) {
  return typeof value === "number" ? Buffer.alloc(value) : Buffer.from(value, encodingOrOffset, length);
}
Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = Object.create(Uint8Array.prototype, { constructor: { value: Buffer, writable: true, configurable: true } });

const statics = {
  poolSize: 8192,
  from(value, encodingOrOffset, length) {
    if (typeof value === "string") return asBuffer(encode(value, encodingOrOffset));
    if (value instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer)) {
      return asBuffer(new Uint8Array(value, encodingOrOffset, length));
    }
    if (ArrayBuffer.isView(value)) return asBuffer(value instanceof DataView ? new Uint8Array(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength)) : Uint8Array.from(value));
    if (Array.isArray(value)) return asBuffer(Uint8Array.from(value, (byte) => byte & 255));
    if (value !== null && typeof value === "object") {
      if (value.type === "Buffer" && Array.isArray(value.data)) return asBuffer(Uint8Array.from(value.data));
      const primitive = value.valueOf?.();
      if (primitive !== value && primitive !== undefined && primitive !== null) return Buffer.from(primitive, encodingOrOffset, length);
      if (typeof value.length === "number") return asBuffer(Uint8Array.from(value));
    }
    throw Object.assign(new TypeError("The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object."), { code: "ERR_INVALID_ARG_TYPE" });
  },
  alloc(size, fill, encoding) {
    if (typeof size !== "number" || !(size >= 0)) throw outOfRange("size", ">= 0", size);
    const buffer = asBuffer(new Uint8Array(size));
    return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, encoding);
  },
  allocUnsafe: (size) => Buffer.alloc(size),
  allocUnsafeSlow: (size) => Buffer.alloc(size),
  isBuffer: (value) => value instanceof Buffer,
  isEncoding(name) {
    try {
      return typeof name === "string" && Boolean(encodingOf(name));
    } catch {
      return false;
    }
  },
  byteLength(value, encoding) {
    return typeof value === "string" ? encode(value, encoding).length : value.byteLength;
  },
  concat(list, total = list.reduce((sum, part) => sum + part.length, 0)) {
    const result = Buffer.alloc(total);
    let offset = 0;
    for (const part of list) {
      if (offset >= total) break;
      result.set(part.length > total - offset ? part.subarray(0, total - offset) : part, offset);
      offset += part.length;
    }
    return result;
  },
  compare(a, b) {
    const length = Math.min(a.length, b.length);
    for (let index = 0; index < length; index++) if (a[index] !== b[index]) return a[index] < b[index] ? -1 : 1;
    return Math.sign(a.length - b.length);
  },
  copyBytesFrom: (view, offset = 0, length) => asBuffer(Uint8Array.from(new Uint8Array(view.buffer, view.byteOffset, view.byteLength).subarray(offset, length === undefined ? undefined : offset + length))),
  of: (...bytes) => asBuffer(Uint8Array.of(...bytes)),
};

const methods = {
  toString(encoding, start = 0, end = this.length) {
    const from = Math.max(0, start);
    const to = Math.min(this.length, end);
    if (to <= from) return "";
    const bytes = from === 0 && to === this.length ? this : this.subarray(from, to);
    return decode(bytes, encoding);
  },
  toLocaleString(encoding, start, end) {
    return this.toString(encoding, start, end);
  },
  toJSON() {
    return { type: "Buffer", data: Array.from(this) };
  },
  equals(other) {
    return this === other || Buffer.compare(this, other) === 0;
  },
  compare(other, otherStart = 0, otherEnd = other.length, start = 0, end = this.length) {
    return Buffer.compare(this.subarray(start, end), other.subarray(otherStart, otherEnd));
  },
  slice(start, end) {
    return this.subarray(start, end);
  },
  subarray(start, end) {
    return asBuffer(Uint8Array.prototype.subarray.call(Object.setPrototypeOf(new Uint8Array(this.buffer, this.byteOffset, this.byteLength), Uint8Array.prototype), start, end));
  },
  copy(target, targetStart = 0, start = 0, end = this.length) {
    const part = this.subarray(start, Math.min(end, start + target.length - targetStart));
    target.set(part, targetStart);
    return part.length;
  },
  write(text, offset, length, encoding) {
    if (typeof offset === "string") [encoding, offset, length] = [offset, 0, undefined];
    else if (typeof length === "string") [encoding, length] = [length, undefined];
    const at = offset ?? 0;
    const bytes = encode(text, encoding).subarray(0, Math.min(length ?? Infinity, this.length - at));
    this.set(bytes, at);
    return bytes.length;
  },
  fill(value, start, end, encoding) {
    if (typeof start === "string") [encoding, start, end] = [start, undefined, undefined];
    else if (typeof end === "string") [encoding, end] = [end, undefined];
    const from = start ?? 0;
    const to = end ?? this.length;
    if (typeof value === "number") return Uint8Array.prototype.fill.call(this, value & 255, from, to);
    const bytes = needle(value, encoding);
    for (let index = from; index < to && bytes.length > 0; index++) this[index] = bytes[(index - from) % bytes.length];
    return this;
  },
  indexOf(value, offset = 0, encoding) {
    if (typeof offset === "string") [encoding, offset] = [offset, 0];
    const bytes = needle(value, encoding);
    for (let index = offset < 0 ? Math.max(0, this.length + offset) : offset; index <= this.length - bytes.length; index++) {
      let same = 0;
      while (same < bytes.length && this[index + same] === bytes[same]) same++;
      if (same === bytes.length) return index;
    }
    return -1;
  },
  lastIndexOf(value, offset = this.length, encoding) {
    const bytes = needle(value, encoding);
    for (let index = Math.min(offset < 0 ? this.length + offset : offset, this.length - bytes.length); index >= 0; index--) {
      let same = 0;
      while (same < bytes.length && this[index + same] === bytes[same]) same++;
      if (same === bytes.length) return index;
    }
    return -1;
  },
  includes(value, offset, encoding) {
    return this.indexOf(value, offset, encoding) >= 0;
  },
  swap16() {
    for (let index = 0; index + 1 < this.length; index += 2) [this[index], this[index + 1]] = [this[index + 1], this[index]];
    return this;
  },
  swap32() {
    for (let index = 0; index + 3 < this.length; index += 4) this.subarray(index, index + 4).reverse();
    return this;
  },
  readUIntBE(offset, length) {
    let value = 0;
    for (let index = 0; index < length; index++) value = value * 256 + this[offset + index];
    return value;
  },
  readUIntLE(offset, length) {
    let value = 0;
    for (let index = length - 1; index >= 0; index--) value = value * 256 + this[offset + index];
    return value;
  },
  readIntBE(offset, length) {
    const value = this.readUIntBE(offset, length);
    return value >= 2 ** (length * 8 - 1) ? value - 2 ** (length * 8) : value;
  },
  readIntLE(offset, length) {
    const value = this.readUIntLE(offset, length);
    return value >= 2 ** (length * 8 - 1) ? value - 2 ** (length * 8) : value;
  },
  writeUIntBE(value, offset, length) {
    let rest = value < 0 ? value + 2 ** (length * 8) : value;
    for (let index = length - 1; index >= 0; index--) {
      this[offset + index] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    return offset + length;
  },
  writeUIntLE(value, offset, length) {
    let rest = value < 0 ? value + 2 ** (length * 8) : value;
    for (let index = 0; index < length; index++) {
      this[offset + index] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    return offset + length;
  },
  [Symbol.for("nodejs.util.inspect.custom")]() {
    const shown = Array.from(Uint8Array.prototype.slice.call(this, 0, 50), (byte) => HEX[byte]).join(" ");
    return `<Buffer${shown ? ` ${shown}` : ""}${this.length > 50 ? ` ... ${this.length - 50} more bytes` : ""}>`;
  },
};
methods.writeIntBE = methods.writeUIntBE;
methods.writeIntLE = methods.writeUIntLE;

// Fixed-width readers and writers, based on DataView.
const WIDTHS = { UInt8: ["Uint8", 1], Int8: ["Int8", 1], UInt16: ["Uint16", 2], Int16: ["Int16", 2], UInt32: ["Uint32", 4], Int32: ["Int32", 4], Float: ["Float32", 4], Double: ["Float64", 8], BigInt64: ["BigInt64", 8], BigUInt64: ["BigUint64", 8] };
for (const [name, [view, width]] of Object.entries(WIDTHS)) {
  for (const end of width === 1 ? [""] : ["LE", "BE"]) {
    const read = function (offset = 0) {
      if (offset < 0 || offset + width > this.length) throw outOfRange("offset", `>= 0 and <= ${this.length - width}`, offset);
      return new DataView(this.buffer, this.byteOffset, this.byteLength)[`get${view}`](offset, end === "LE");
    };
    const write = function (value, offset = 0) {
      if (offset < 0 || offset + width > this.length) throw outOfRange("offset", `>= 0 and <= ${this.length - width}`, offset);
      new DataView(this.buffer, this.byteOffset, this.byteLength)[`set${view}`](offset, value, end === "LE");
      return offset + width;
    };
    methods[`read${name}${end}`] = read;
    methods[`write${name}${end}`] = write;
    if (name.includes("UInt")) {
      const alias = name.replace("UInt", "Uint");
      methods[`read${alias}${end}`] = read;
      methods[`write${alias}${end}`] = write;
    }
  }
}
for (const [target, source] of [[Buffer, statics], [Buffer.prototype, methods]]) {
  for (const key of Reflect.ownKeys(source)) Object.defineProperty(target, key, { value: source[key], writable: true, configurable: true, enumerable: false });
}
Object.defineProperty(Buffer.prototype, "parent", { get() { return this.buffer; }, configurable: true });
Object.defineProperty(Buffer, Symbol.species, { get: () => Uint8Array, configurable: true });

export const SlowBuffer = Buffer;
export const constants = { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 30 - 1 };
export const kMaxLength = constants.MAX_LENGTH;
export const kStringMaxLength = constants.MAX_STRING_LENGTH;
export const INSPECT_MAX_BYTES = 50;
export function isUtf8(bytes) {
  return decodeUtf8(bytes, true) !== undefined;
}
export function isAscii(bytes) {
  return bytes.every((byte) => byte < 128);
}
export function transcode(bytes, from, to) {
  return Buffer.from(decode(bytes, from), to);
}
export { atob, btoa, Blob, File };
export default { Buffer, SlowBuffer, constants, kMaxLength, kStringMaxLength, INSPECT_MAX_BYTES, isUtf8, isAscii, transcode, atob, btoa, Blob, File };
