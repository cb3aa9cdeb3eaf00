// crypto: hashes, HMAC, random values, key derivation and signatures. Keys and ciphers are in separate modules.
import { callSync, start } from "pi:operations";
import { Buffer } from "node:buffer";
import { Transform, Writable } from "node:stream";
import { Cipheriv, Decipheriv, createCipheriv, createDecipheriv, getCipherInfo, getCiphers } from "pi:ciphers";
import { KeyObject, createPrivateKey, createPublicKey, createSecretKey, cryptoError, generateKeyPairSync, concatInputs, native, schemeOf, toBytes } from "pi:keys";
import { crypto } from "pi:web/crypto";

function toOutput(bytes, encoding) {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding && encoding !== "buffer" ? buffer.toString(encoding) : buffer;
}

// Chunks are buffered and digested at the end, since extensions hash little data.
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
    return toOutput(this.#finish(Buffer.concat(this.#chunks)), encoding);
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
  // Report an unknown algorithm early.
  callSync("crypto", "hash", { algorithm });
  return new Digest((bytes) => callSync("crypto", "hash", { algorithm }, native(bytes)));
}

export function hash(algorithm, data, encoding = "hex") {
  return toOutput(callSync("crypto", "hash", { algorithm }, native(toBytes(data))), encoding);
}

export function createHmac(algorithm, key) {
  const secret = toBytes(key);
  return new Digest((bytes) => callSync("crypto", "hmac", { algorithm, keyLength: secret.length }, native(Buffer.concat([secret, bytes]))));
}

export function randomBytes(length, done) {
  if (!done) return toOutput(callSync("crypto", "random", { length }));
  start("crypto", "random", { length }).then((bytes) => done(null, toOutput(bytes)), done);
}

export function randomFillSync(target, offset = 0, size = target.byteLength - offset) {
  new Uint8Array(target.buffer ?? target, (target.byteOffset ?? 0) + offset, size).set(callSync("crypto", "random", { length: size }));
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
  do value = toOutput(callSync("crypto", "random", { length: 6 })).readUIntBE(0, 6);
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
  return toOutput(callSync("crypto", "pbkdf2", ...derivation(...args)));
}

export function pbkdf2(...args) {
  const done = args.pop();
  start("crypto", "pbkdf2", ...derivation(...args)).then((bytes) => done(null, toOutput(bytes)), done);
}

// Runs a quick operation and passes its outcome to a callback asynchronously.
function callLater(done, work) {
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
  const { parts, bytes } = concatInputs(password, salt);
  return [{ cost, blockSize, parallelization, memory: options.maxmem ?? 32 * 1024 * 1024, length, parts }, bytes];
}

export function scryptSync(...args) {
  return toOutput(callSync("crypto", "scrypt", ...scryptArguments(...args)));
}

export function scrypt(...args) {
  const done = args.pop();
  start("crypto", "scrypt", ...scryptArguments(...args)).then((bytes) => done(null, toOutput(bytes)), done);
}

export function hkdfSync(algorithm, secret, salt, info, length) {
  const { parts, bytes } = concatInputs(secret, salt, info);
  return toOutput(callSync("crypto", "hkdf", { algorithm, length, parts }, bytes)).buffer;
}

export function hkdf(...args) {
  const done = args.pop();
  callLater(done, () => hkdfSync(...args));
}

export function generateKeyPair(kind, options, done) {
  callLater((error, pair) => done(error, pair?.publicKey, pair?.privateKey), () => generateKeyPairSync(kind, options));
}

export function generateKeySync(kind, { length }) {
  return createSecretKey(randomBytes(length / 8));
}

export function generateKey(kind, options, done) {
  callLater(done, () => generateKeySync(kind, options));
}

export function sign(algorithm, data, key, done) {
  if (done) return callLater(done, () => sign(algorithm, data, key));
  const { parts, bytes } = concatInputs(createPrivateKey(key), data);
  return toOutput(callSync("crypto", "sign", { ...schemeOf(algorithm, key), parts }, bytes));
}

export function verify(algorithm, data, key, signature, done) {
  if (done) return callLater(done, () => verify(algorithm, data, key, signature));
  const { parts, bytes } = concatInputs(createPublicKey(key), signature, data);
  return callSync("crypto", "verify", { ...schemeOf(algorithm, key), parts }, bytes);
}

// Buffers the data until the key is known.
class BufferedSigner extends Writable {
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
  withData(use) {
    return use(this.#algorithm, Buffer.concat(this.#chunks));
  }
}

export class Sign extends BufferedSigner {
  sign(key, encoding) {
    return toOutput(this.withData((algorithm, data) => sign(algorithm, data, key)), encoding);
  }
}

export class Verify extends BufferedSigner {
  verify(key, signature, encoding) {
    return this.withData((algorithm, data) => verify(algorithm, data, key, toBytes(signature, encoding)));
  }
}

export function createSign(algorithm) {
  return new Sign(algorithm);
}

export function createVerify(algorithm) {
  return new Verify(algorithm);
}

export function getHashes() {
  return callSync("crypto", "hashes", {});
}

export const webcrypto = crypto;
export const { subtle, getRandomValues } = crypto;
export const constants = { RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6, RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2 };
export { Cipheriv, Decipheriv, KeyObject, createCipheriv, createDecipheriv, createPrivateKey, createPublicKey, createSecretKey, generateKeyPairSync, getCipherInfo, getCiphers };
export default { Cipheriv, Decipheriv, Hash: Digest, Hmac: Digest, KeyObject, Sign, Verify, constants, createCipheriv, createDecipheriv, createHash, createHmac, createPrivateKey, createPublicKey, createSecretKey, createSign, createVerify, generateKey, generateKeyPair, generateKeyPairSync, generateKeySync, getCipherInfo, getCiphers, getHashes, getRandomValues, hash, hkdf, hkdfSync, pbkdf2, pbkdf2Sync, randomBytes, randomFill, randomFillSync, randomInt, randomUUID, scrypt, scryptSync, sign, subtle, timingSafeEqual, verify, webcrypto };
