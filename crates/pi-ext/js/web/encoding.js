// TextEncoder, TextDecoder and base64.
import { decodeUtf8, encodeUtf8 } from "pi:native";
import { DOMException } from "pi:web/events";

export function bytesOf(source) {
  if (source === undefined) return new Uint8Array();
  if (source instanceof Uint8Array) return source;
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (source instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && source instanceof SharedArrayBuffer)) {
    return new Uint8Array(source);
  }
  throw new TypeError("expected an ArrayBuffer or ArrayBufferView");
}

export class TextEncoder {
  get encoding() {
    return "utf-8";
  }

  encode(text = "") {
    return encodeUtf8(String(text).toWellFormed());
  }

  encodeInto(text, target) {
    let read = 0;
    let written = 0;
    for (const character of String(text)) {
      const bytes = encodeUtf8(character.toWellFormed());
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }
}

const LABELS = {
  "utf-8": "utf-8", utf8: "utf-8", "unicode-1-1-utf-8": "utf-8",
  "utf-16le": "utf-16le", "utf-16": "utf-16le", ucs2: "utf-16le", "ucs-2": "utf-16le",
  "utf-16be": "utf-16be",
  latin1: "windows-1252", "iso-8859-1": "windows-1252", ascii: "windows-1252", "us-ascii": "windows-1252", "windows-1252": "windows-1252",
};

// Returns the number of trailing bytes that are an incomplete UTF-8 character.
export function incompleteTail(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

export class TextDecoder {
  #encoding;
  #fatal;
  #keepBom;
  #pending = new Uint8Array();
  #isStart = true;

  constructor(label = "utf-8", options = {}) {
    this.#encoding = LABELS[String(label).trim().toLowerCase()];
    if (!this.#encoding) {
      throw Object.assign(new RangeError(`The "${label}" encoding is not supported`), { code: "ERR_ENCODING_NOT_SUPPORTED" });
    }
    this.#fatal = Boolean(options?.fatal);
    this.#keepBom = Boolean(options?.ignoreBOM);
  }

  get encoding() {
    return this.#encoding;
  }
  get fatal() {
    return this.#fatal;
  }
  get ignoreBOM() {
    return this.#keepBom;
  }

  decode(source, options = {}) {
    let bytes = bytesOf(source);
    if (this.#pending.length > 0) {
      const joined = new Uint8Array(this.#pending.length + bytes.length);
      joined.set(this.#pending);
      joined.set(bytes, this.#pending.length);
      bytes = joined;
      this.#pending = new Uint8Array();
    }
    if (options?.stream) {
      const pendingLength = this.#encoding === "utf-8" ? incompleteTail(bytes) : this.#encoding.startsWith("utf-16") ? bytes.length % 2 : 0;
      this.#pending = bytes.slice(bytes.length - pendingLength);
      bytes = bytes.subarray(0, bytes.length - pendingLength);
    }
    let text = this.#decode(bytes);
    if (this.#isStart && text.length > 0) {
      if (!this.#keepBom && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
      this.#isStart = false;
    }
    if (!options?.stream) this.#isStart = true;
    return text;
  }

  #decode(bytes) {
    if (this.#encoding === "utf-8") {
      const text = decodeUtf8(bytes.buffer.byteLength === bytes.byteLength && bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes), this.#fatal);
      if (text === undefined) {
        throw Object.assign(new TypeError("The encoded data was not valid for encoding utf-8"), { code: "ERR_ENCODING_INVALID_ENCODED_DATA" });
      }
      return text;
    }
    let text = "";
    if (this.#encoding === "windows-1252") {
      for (const byte of bytes) text += String.fromCharCode(byte);
      return text;
    }
    const high = this.#encoding === "utf-16be" ? 0 : 1;
    for (let index = 0; index + 1 < bytes.length; index += 2) {
      text += String.fromCharCode((bytes[index + high] << 8) | bytes[index + 1 - high]);
    }
    return text;
  }
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Int16Array(256).fill(-1);
for (let index = 0; index < 64; index++) VALUES[ALPHABET.charCodeAt(index)] = index;
VALUES["-".charCodeAt(0)] = 62;
VALUES["_".charCodeAt(0)] = 63;

export function base64Encode(bytes, isUrl = false) {
  const parts = [];
  let chunk = "";
  for (let index = 0; index < bytes.length; index += 3) {
    const left = bytes.length - index;
    const group = (bytes[index] << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    chunk += ALPHABET[group >> 18] + ALPHABET[(group >> 12) & 63];
    chunk += left > 1 ? ALPHABET[(group >> 6) & 63] : "=";
    chunk += left > 2 ? ALPHABET[group & 63] : "=";
    if (chunk.length > 8192) {
      parts.push(chunk);
      chunk = "";
    }
  }
  const text = parts.join("") + chunk;
  return isUrl ? text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "") : text;
}

// Decodes base64 or base64url, skipping invalid characters.
export function base64Decode(text) {
  const end = text.indexOf("=");
  const source = end < 0 ? text : text.slice(0, end);
  const bytes = new Uint8Array(Math.ceil((source.length * 3) / 4));
  let length = 0;
  let bits = 0;
  let value = 0;
  for (let index = 0; index < source.length; index++) {
    const code = source.charCodeAt(index);
    const digit = code < 256 ? VALUES[code] : -1;
    if (digit < 0) continue;
    value = ((value << 6) | digit) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = (value >> bits) & 255;
    }
  }
  return bytes.subarray(0, length);
}

export function btoa(text) {
  const source = String(text);
  const bytes = new Uint8Array(source.length);
  for (let index = 0; index < source.length; index++) {
    const code = source.charCodeAt(index);
    if (code > 255) throw new DOMException("The string to be encoded contains characters outside of the Latin1 range.", "InvalidCharacterError");
    bytes[index] = code;
  }
  return base64Encode(bytes);
}

export function atob(text) {
  const source = String(text).replace(/[\t\n\f\r ]/g, "");
  const body = source.length % 4 === 0 ? source.replace(/={1,2}$/, "") : source;
  if (/[^A-Za-z0-9+/]/.test(body) || body.length % 4 === 1) {
    throw new DOMException("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
  }
  let result = "";
  for (const byte of base64Decode(body)) result += String.fromCharCode(byte);
  return result;
}
