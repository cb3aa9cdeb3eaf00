// crypto: hashes, keyed hashes, randomness, key derivation, signatures; keys and ciphers beside it.
import { perform, start } from "pi:operations";
import { Buffer } from "node:buffer";
import { Transform, Writable } from "node:stream";
import { Cipheriv, Decipheriv, createCipheriv, createDecipheriv, getCipherInfo, getCiphers } from "pi:ciphers";
import { KeyObject, createPrivateKey, createPublicKey, createSecretKey, cryptoError, generateKeyPairSync, joined, native, schemeOf, toBytes } from "pi:keys";
import { crypto } from "pi:web/crypto";

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
    if (this.#isDone) throw cryptoError("Digest already called", "ERR_CRYPTO_HASH_FINALIZED");
    this.#chunks.push(typeof data === "string" ? Buffer.from(data, encoding) : Buffer.from(toBytes(data)));
    return this;
  }
  digest(encoding) {
    if (this.#isDone) throw cryptoError("Digest already called", "ERR_CRYPTO_HASH_FINALIZED");
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

// Hands the outcome of something quick to a callback, later.
function later(done, work) {
  let outcome;
  try {
    outcome = [null, work()];
  } catch (error) {
    outcome = [error];
  }
  queueMicrotask(() => done(...outcome));
}

function scryptArguments(password, salt, length, options = {}) {
  const cost = options.N ?? options.cost ?? 16384;
  const blockSize = options.r ?? options.blockSize ?? 8;
  const parallelization = options.p ?? options.parallelization ?? 1;
  const { parts, bytes } = joined(password, salt);
  return [{ cost, blockSize, parallelization, memory: options.maxmem ?? 32 * 1024 * 1024, length, parts }, bytes];
}

export function scryptSync(...args) {
  return given(perform("crypto", "scrypt", ...scryptArguments(...args)));
}

export function scrypt(...args) {
  const done = args.pop();
  start("crypto", "scrypt", ...scryptArguments(...args)).then((bytes) => done(null, given(bytes)), done);
}

export function hkdfSync(algorithm, secret, salt, info, length) {
  const { parts, bytes } = joined(secret, salt, info);
  return given(perform("crypto", "hkdf", { algorithm, length, parts }, bytes)).buffer;
}

export function hkdf(...args) {
  const done = args.pop();
  later(done, () => hkdfSync(...args));
}

export function generateKeyPair(kind, options, done) {
  later((error, pair) => done(error, pair?.publicKey, pair?.privateKey), () => generateKeyPairSync(kind, options));
}

export function generateKeySync(kind, { length }) {
  return createSecretKey(randomBytes(length / 8));
}

export function generateKey(kind, options, done) {
  later(done, () => generateKeySync(kind, options));
}

export function sign(algorithm, data, key, done) {
  if (done) return later(done, () => sign(algorithm, data, key));
  const { parts, bytes } = joined(createPrivateKey(key), data);
  return given(perform("crypto", "sign", { ...schemeOf(algorithm, key), parts }, bytes));
}

export function verify(algorithm, data, key, signature, done) {
  if (done) return later(done, () => verify(algorithm, data, key, signature));
  const { parts, bytes } = joined(createPublicKey(key), signature, data);
  return perform("crypto", "verify", { ...schemeOf(algorithm, key), parts }, bytes);
}

// The data is kept until there is a key.
class Collected extends Writable {
  #algorithm;
  #chunks = [];
  constructor(algorithm) {
    super();
    this.#algorithm = algorithm;
  }
  update(data, encoding) {
    this.#chunks.push(Buffer.from(toBytes(data, encoding)));
    return this;
  }
  _write(chunk, encoding, done) {
    this.update(chunk, encoding);
    done();
  }
  collected(use) {
    return use(this.#algorithm, Buffer.concat(this.#chunks));
  }
}

export class Sign extends Collected {
  sign(key, encoding) {
    return given(this.collected((algorithm, data) => sign(algorithm, data, key)), encoding);
  }
}

export class Verify extends Collected {
  verify(key, signature, encoding) {
    return this.collected((algorithm, data) => verify(algorithm, data, key, toBytes(signature, encoding)));
  }
}

export function createSign(algorithm) {
  return new Sign(algorithm);
}

export function createVerify(algorithm) {
  return new Verify(algorithm);
}

export function getHashes() {
  return perform("crypto", "hashes", {});
}

export const webcrypto = crypto;
export const { subtle, getRandomValues } = crypto;
export const constants = { RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6, RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2 };
export { Cipheriv, Decipheriv, KeyObject, createCipheriv, createDecipheriv, createPrivateKey, createPublicKey, createSecretKey, generateKeyPairSync, getCipherInfo, getCiphers };
export default { Cipheriv, Decipheriv, Hash: Digest, Hmac: Digest, KeyObject, Sign, Verify, constants, createCipheriv, createDecipheriv, createHash, createHmac, createPrivateKey, createPublicKey, createSecretKey, createSign, createVerify, generateKey, generateKeyPair, generateKeyPairSync, generateKeySync, getCipherInfo, getCiphers, getHashes, getRandomValues, hash, hkdf, hkdfSync, pbkdf2, pbkdf2Sync, randomBytes, randomFill, randomFillSync, randomInt, randomUUID, scrypt, scryptSync, sign, subtle, timingSafeEqual, verify, webcrypto };
