// crypto: hashes, keyed hashes, randomness, key derivation.
import { perform, start } from "pi:operations";
import { Buffer } from "node:buffer";
import { Transform } from "node:stream";
import { crypto } from "pi:web/crypto";

function toBytes(data, encoding) {
  if (typeof data === "string") return Buffer.from(data, encoding);
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return Buffer.from(data);
  if (data instanceof KeyObject) return data.export();
  throw Object.assign(new TypeError('The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView'), { code: "ERR_INVALID_ARG_TYPE" });
}

function native(buffer) {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function given(bytes, encoding) {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding && encoding !== "buffer" ? buffer.toString(encoding) : buffer;
}

// Chunks are kept and digested at the end; what extensions hash is small.
class Digest extends Transform {
  #chunks = [];
  #finish;
  #isDone = false;

  constructor(finish) {
    super();
    this.#finish = finish;
  }
  update(data, encoding) {
    if (this.#isDone) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.#chunks.push(typeof data === "string" ? Buffer.from(data, encoding) : Buffer.from(toBytes(data)));
    return this;
  }
  digest(encoding) {
    if (this.#isDone) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.#isDone = true;
    return given(this.#finish(Buffer.concat(this.#chunks)), encoding);
  }
  copy() {
    const copy = new Digest(this.#finish);
    copy.#chunks = [...this.#chunks];
    return copy;
  }
  _transform(chunk, encoding, done) {
    this.update(chunk, encoding);
    done();
  }
  _flush(done) {
    done(null, this.digest());
  }
}

export { Digest as Hash, Digest as Hmac };

export function createHash(algorithm) {
  // An unknown algorithm fails here, not at the end.
  perform("crypto", "hash", { algorithm });
  return new Digest((bytes) => perform("crypto", "hash", { algorithm }, native(bytes)));
}

export function hash(algorithm, data, encoding = "hex") {
  return given(perform("crypto", "hash", { algorithm }, native(toBytes(data))), encoding);
}

export function createHmac(algorithm, key) {
  const secret = toBytes(key);
  return new Digest((bytes) => perform("crypto", "hmac", { algorithm, keyLength: secret.length }, native(Buffer.concat([secret, bytes]))));
}

export function randomBytes(length, done) {
  if (!done) return given(perform("crypto", "random", { length }));
  start("crypto", "random", { length }).then((bytes) => done(null, given(bytes)), done);
}

export function randomFillSync(target, offset = 0, size = target.byteLength - offset) {
  new Uint8Array(target.buffer ?? target, (target.byteOffset ?? 0) + offset, size).set(perform("crypto", "random", { length: size }));
  return target;
}

export function randomFill(target, ...rest) {
  const done = rest.pop();
  queueMicrotask(() => done(null, randomFillSync(target, ...rest)));
}

export function randomInt(low, high, done) {
  let [from, to] = [low, high];
  if (to === undefined || typeof to === "function") [from, to, done] = [0, low, to];
  const range = to - from;
  if (!(range > 0)) throw Object.assign(new RangeError('The value of "max" is out of range'), { code: "ERR_OUT_OF_RANGE" });
  const limit = 2 ** 48 - (2 ** 48 % range);
  let value;
  do value = given(perform("crypto", "random", { length: 6 })).readUIntBE(0, 6);
  while (value >= limit);
  const result = from + (value % range);
  if (done) queueMicrotask(() => done(null, result));
  return result;
}

export function randomUUID() {
  return crypto.randomUUID();
}

export function timingSafeEqual(a, b) {
  const x = toBytes(a);
  const y = toBytes(b);
  if (x.length !== y.length) throw Object.assign(new RangeError("Input buffers must have the same byte length"), { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH" });
  let difference = 0;
  for (let index = 0; index < x.length; index++) difference |= x[index] ^ y[index];
  return difference === 0;
}

function derivation(password, salt, iterations, length, digest) {
  const secret = toBytes(password);
  return [{ algorithm: digest, iterations, length, keyLength: secret.length }, native(Buffer.concat([secret, toBytes(salt)]))];
}

export function pbkdf2Sync(...args) {
  return given(perform("crypto", "pbkdf2", ...derivation(...args)));
}

export function pbkdf2(...args) {
  const done = args.pop();
  start("crypto", "pbkdf2", ...derivation(...args)).then((bytes) => done(null, given(bytes)), done);
}

export class KeyObject {
  #bytes;
  type = "secret";
  constructor(bytes) {
    this.#bytes = bytes;
  }
  get symmetricKeySize() {
    return this.#bytes.length;
  }
  export() {
    return Buffer.from(this.#bytes);
  }
}

export function createSecretKey(key, encoding) {
  return new KeyObject(toBytes(key, encoding));
}

export function getHashes() {
  return perform("crypto", "hashes");
}

export function getCiphers() {
  return [];
}

export const webcrypto = crypto;
export const { subtle, getRandomValues } = crypto;
export const constants = {};
export default { Hash: Digest, Hmac: Digest, createHash, hash, createHmac, randomBytes, randomFillSync, randomFill, randomInt, randomUUID, timingSafeEqual, pbkdf2Sync, pbkdf2, KeyObject, createSecretKey, getHashes, getCiphers, webcrypto, subtle, getRandomValues, constants };
