// string_decoder.
import { Buffer } from "node:buffer";
import { incompleteTail } from "pi:web/encoding";

export class StringDecoder {
  #pending = Buffer.alloc(0);

  constructor(encoding = "utf8") {
    const name = String(encoding).toLowerCase().replace("-", "");
    if (!Buffer.isEncoding(encoding)) throw Object.assign(new TypeError(`Unknown encoding: ${encoding}`), { code: "ERR_UNKNOWN_ENCODING" });
    this.encoding = { binary: "latin1", ucs2: "utf16le" }[name] ?? name;
  }

  // Returns the number of trailing bytes that are an incomplete character.
  #waiting(bytes) {
    switch (this.encoding) {
      case "utf8":
        return incompleteTail(bytes);
      case "utf16le":
        return bytes.length % 2;
      case "base64":
      case "base64url":
        return bytes.length % 3;
      default:
        return 0;
    }
  }

  write(chunk) {
    if (typeof chunk === "string") return chunk;
    const bytes = this.#pending.length > 0 ? Buffer.concat([this.#pending, chunk]) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const waiting = this.#waiting(bytes);
    this.#pending = Buffer.from(bytes.subarray(bytes.length - waiting));
    return bytes.subarray(0, bytes.length - waiting).toString(this.encoding);
  }

  end(chunk) {
    const text = chunk === undefined ? "" : this.write(chunk);
    const rest = this.#pending;
    this.#pending = Buffer.alloc(0);
    return text + (rest.length > 0 ? rest.toString(this.encoding) : "");
  }
}
export default { StringDecoder };
