// Ciphers of `crypto`. The native side takes complete messages, so input is buffered until `final`. The concatenated
// output is the same as in Node.
import { callSync } from "pi:operations";
import { Buffer } from "node:buffer";
import { Transform } from "node:stream";
import { cryptoError, concatInputs, toBytes } from "pi:keys";

const TAG_LENGTH = 16;

function isAuthenticated(algorithm) {
  return /gcm$|poly1305$/i.test(algorithm);
}

class Cipher extends Transform {
  #algorithm;
  #key;
  #iv;
  #chunks = [];
  #aad = [];
  #tag = undefined;
  #hasNoPadding = false;
  #isDone = false;
  #decrypts;

  constructor(algorithm, key, iv, decrypts) {
    super();
    this.#algorithm = String(algorithm);
    this.#key = toBytes(key);
    this.#iv = iv === null || iv === undefined ? Buffer.alloc(0) : toBytes(iv);
    this.#decrypts = decrypts;
    if (!callSync("crypto", "ciphers", {}).includes(this.#algorithm.toLowerCase().replace(/^id-/, ""))) {
      throw cryptoError(`Unknown cipher: ${algorithm}`, "ERR_CRYPTO_UNKNOWN_CIPHER");
    }
    // Report a key or IV of the wrong length early.
    if (!decrypts) this.#run(Buffer.alloc(16));
  }

  #run(message) {
    const { parts, bytes } = concatInputs(this.#key, this.#iv, Buffer.concat(this.#aad), message);
    const result = callSync("crypto", "cipher", { algorithm: this.#algorithm, decrypts: this.#decrypts, hasNoPadding: this.#hasNoPadding, parts }, bytes);
    return Buffer.from(result.buffer, result.byteOffset, result.byteLength);
  }

  update(data, inputEncoding, outputEncoding) {
    if (this.#isDone) throw cryptoError("Unsupported state", "ERR_CRYPTO_INVALID_STATE");
    this.#chunks.push(Buffer.from(toBytes(data, inputEncoding)));
    return outputEncoding && outputEncoding !== "buffer" ? "" : Buffer.alloc(0);
  }

  final(outputEncoding) {
    if (this.#isDone) throw cryptoError("Unsupported state", "ERR_CRYPTO_INVALID_STATE");
    this.#isDone = true;
    const message = Buffer.concat(this.#chunks);
    let result;
    if (!isAuthenticated(this.#algorithm)) {
      result = this.#run(message);
    } else if (this.#decrypts) {
      if (!this.#tag) throw cryptoError("Unsupported state or unable to authenticate data", "ERR_CRYPTO_INVALID_STATE");
      result = this.#run(Buffer.concat([message, this.#tag]));
    } else {
      const sealed = this.#run(message);
      this.#tag = sealed.subarray(sealed.length - TAG_LENGTH);
      result = sealed.subarray(0, sealed.length - TAG_LENGTH);
    }
    return outputEncoding && outputEncoding !== "buffer" ? result.toString(outputEncoding) : result;
  }

  setAutoPadding(pads = true) {
    this.#hasNoPadding = !pads;
    return this;
  }
  setAAD(data) {
    this.#aad.push(Buffer.from(toBytes(data)));
    return this;
  }
  getAuthTag() {
    if (!this.#tag || !this.#isDone) throw cryptoError("Invalid state for operation getAuthTag", "ERR_CRYPTO_INVALID_STATE");
    return Buffer.from(this.#tag);
  }
  setAuthTag(tag, encoding) {
    const bytes = Buffer.from(toBytes(tag, encoding));
    if (bytes.length !== TAG_LENGTH) throw cryptoError(`Invalid authentication tag length: ${bytes.length}`, "ERR_CRYPTO_INVALID_AUTH_TAG", TypeError);
    this.#tag = bytes;
    return this;
  }

  _transform(chunk, encoding, done) {
    this.update(chunk, encoding);
    done();
  }
  _flush(done) {
    try {
      done(null, this.final());
    } catch (error) {
      done(error);
    }
  }
}

export class Cipheriv extends Cipher {
  constructor(algorithm, key, iv) {
    super(algorithm, key, iv, false);
  }
}

export class Decipheriv extends Cipher {
  constructor(algorithm, key, iv) {
    super(algorithm, key, iv, true);
  }
}

export function createCipheriv(algorithm, key, iv) {
  return new Cipheriv(algorithm, key, iv);
}

export function createDecipheriv(algorithm, key, iv) {
  return new Decipheriv(algorithm, key, iv);
}

export function getCiphers() {
  return callSync("crypto", "ciphers", {});
}

const SIZES = { cbc: 16, ctr: 16, ecb: 0, gcm: 12, poly1305: 12 };

export function getCipherInfo(name) {
  const lower = String(name).toLowerCase();
  if (!getCiphers().includes(lower)) return undefined;
  const mode = lower.split("-").at(-1);
  const bits = /-(\d+)-/.exec(lower);
  return { name: lower, mode: mode === "poly1305" ? undefined : mode, ivLength: SIZES[mode], keyLength: bits ? Number(bits[1]) / 8 : 32, blockSize: ["cbc", "ecb"].includes(mode) ? 16 : undefined };
}
