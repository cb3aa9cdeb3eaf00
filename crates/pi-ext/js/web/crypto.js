// Web Crypto: random values, digests, HMAC, AES, key derivation, and signatures with RSA, ECDSA and Ed25519.
import { callSync, start } from "pi:operations";
import { concat } from "pi:web/blob";
import { base64Decode, base64Encode, bytesOf } from "pi:web/encoding";
import { DOMException } from "pi:web/events";
import { fromJwk, toJwk } from "pi:jwk";

function plain(bytes) {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes);
}

// Concatenates the inputs of an operation. Returns the lengths of all but the last, and the bytes.
function concatInputs(...inputs) {
  const parts = inputs.map((part) => bytesOf(part));
  return { parts: parts.slice(0, -1).map((part) => part.length), bytes: concat(parts) };
}

const NAMES = ["HMAC", "PBKDF2", "HKDF", "AES-GCM", "AES-CBC", "AES-CTR", "RSASSA-PKCS1-v1_5", "RSA-PSS", "ECDSA", "Ed25519"];
const NONE = new Uint8Array(0);

function nameOf(algorithm) {
  const name = String(typeof algorithm === "string" ? algorithm : algorithm?.name);
  return NAMES.find((known) => known.toLowerCase() === name.toLowerCase()) ?? name.toUpperCase();
}

const hashName = (algorithm) => nameOf(algorithm.hash ?? algorithm).replace("SHA-", "sha");

function unsupported(what) {
  return new DOMException(`crypto.subtle.${what} is not available to extensions`, "NotSupportedError");
}

export class CryptoKey {
  constructor(type, algorithm, extractable, usages, secret) {
    this.type = type;
    this.algorithm = algorithm;
    this.extractable = extractable;
    this.usages = usages;
    Object.defineProperty(this, "secret", { value: secret, enumerable: false });
  }
}

function requireUsage(key, usage) {
  if (!key.usages.includes(usage)) throw new DOMException(`the key cannot be used to ${usage}`, "InvalidAccessError");
}

// Returns the `algorithm` property of a key.
function keyAlgorithm(algorithm, bytes) {
  const name = nameOf(algorithm);
  const hash = algorithm.hash === undefined ? undefined : { name: nameOf(algorithm.hash) };
  const details = { name, ...(hash ? { hash } : {}) };
  if (name.startsWith("AES-") && bytes) details.length = bytes.length * 8;
  if (name === "HMAC" && bytes) details.length = algorithm.length ?? bytes.length * 8;
  if (algorithm.namedCurve) details.namedCurve = algorithm.namedCurve;
  if (algorithm.modulusLength) Object.assign(details, { modulusLength: algorithm.modulusLength, publicExponent: algorithm.publicExponent });
  return details;
}

// Converts signature parameters to the arguments of the native operation.
function schemeOf(algorithm, key) {
  const name = nameOf(algorithm);
  if (name !== key.algorithm.name) throw new DOMException(`the key is for ${key.algorithm.name}`, "InvalidAccessError");
  const hash = name === "ECDSA" ? hashName(algorithm) : key.algorithm.hash ? hashName(key.algorithm) : "";
  return { algorithm: hash, isPss: name === "RSA-PSS", isFixed: name === "ECDSA" };
}

async function hmac(key, data) {
  const secret = key.secret;
  const { bytes } = concatInputs(secret, data);
  const tag = await start("crypto", "hmac", { algorithm: hashName(key.algorithm), keyLength: secret.length }, bytes);
  return tag.buffer;
}

function equal(expected, actual) {
  let difference = expected.length ^ actual.length;
  for (let index = 0; index < expected.length; index++) difference |= expected[index] ^ (actual[index] ?? 0);
  return difference === 0;
}

async function runCipher(algorithm, key, data, decrypts) {
  const name = nameOf(algorithm);
  const mode = { "AES-GCM": "gcm", "AES-CBC": "cbc", "AES-CTR": "ctr" }[name];
  if (!mode) throw unsupported(`${decrypts ? "decrypt" : "encrypt"}(${name})`);
  if ((algorithm.tagLength ?? 128) !== 128) throw unsupported(`encrypt(${name}) with a ${algorithm.tagLength}-bit tag`);
  const { parts, bytes } = concatInputs(key.secret, mode === "ctr" ? algorithm.counter : algorithm.iv, algorithm.additionalData ?? NONE, data);
  try {
    const result = await start("crypto", "cipher", { algorithm: `aes-${key.secret.length * 8}-${mode}`, decrypts, parts }, bytes);
    return result.buffer;
  } catch (error) {
    throw new DOMException(error.message, "OperationError");
  }
}

function pair(privateBytes, algorithm, extractable, usages) {
  const publicBytes = callSync("crypto", "publicKey", {}, privateBytes);
  return {
    publicKey: new CryptoKey("public", algorithm, true, usages.filter((usage) => usage === "verify"), publicBytes),
    privateKey: new CryptoKey("private", algorithm, extractable, usages.filter((usage) => usage === "sign"), privateBytes),
  };
}

function readJwk(data) {
  try {
    return fromJwk(data);
  } catch (error) {
    throw new DOMException(error.message, "DataError");
  }
}

const SIGNING = { "RSASSA-PKCS1-v1_5": "rsa", "RSA-PSS": "rsa", ECDSA: "ec", Ed25519: "ed25519" };

const subtle = {
  async digest(algorithm, data) {
    const bytes = await start("crypto", "hash", { algorithm: nameOf(algorithm).replace("SHA-", "sha") }, plain(bytesOf(data)));
    return bytes.buffer;
  },
  async importKey(format, data, algorithm, extractable, usages) {
    const name = nameOf(algorithm);
    const isSecret = ["HMAC", "PBKDF2", "HKDF", "AES-GCM", "AES-CBC", "AES-CTR"].includes(name);
    const isOct = format === "jwk" && data?.kty === "oct";
    if (isSecret && (format === "raw" || isOct)) {
      const secret = Uint8Array.from(isOct ? base64Decode(data.k) : bytesOf(data));
      return new CryptoKey("secret", keyAlgorithm(algorithm, secret), extractable, [...usages], secret);
    }
    if (name in SIGNING && (format === "pkcs8" || format === "spki")) {
      const type = format === "pkcs8" ? "private" : "public";
      return new CryptoKey(type, keyAlgorithm(algorithm), extractable, [...usages], Uint8Array.from(bytesOf(data)));
    }
    if (name in SIGNING && format === "jwk") {
      const { type, der } = readJwk(data);
      const details = data.crv ? { ...algorithm, namedCurve: data.crv } : algorithm;
      return new CryptoKey(type, keyAlgorithm(details), extractable, [...usages], Uint8Array.from(der));
    }
    throw unsupported(`importKey(${format}, ${name})`);
  },
  async exportKey(format, key) {
    if (!key.extractable) throw new DOMException("the key is not extractable", "InvalidAccessError");
    const natural = { secret: "raw", private: "pkcs8", public: "spki" }[key.type];
    if (format === natural) return key.secret.slice().buffer;
    if (format === "jwk" && key.type === "secret") return { kty: "oct", k: base64Encode(key.secret, true), ext: true, key_ops: [...key.usages] };
    if (format === "jwk") {
      const publicKey = key.type === "private" ? Buffer.from(callSync("crypto", "publicKey", {}, key.secret)) : undefined;
      return { key_ops: [...key.usages], ext: key.extractable, ...toJwk(key.type, Buffer.from(key.secret), publicKey) };
    }
    throw unsupported(`exportKey(${format})`);
  },
  async generateKey(algorithm, extractable, usages) {
    const name = nameOf(algorithm);
    if (name === "HMAC" || name.startsWith("AES-")) {
      const secret = callSync("crypto", "random", { length: (algorithm.length ?? 512) / 8 });
      return new CryptoKey("secret", keyAlgorithm(algorithm, secret), extractable, [...usages], secret);
    }
    const kind = SIGNING[name];
    if (!kind) throw unsupported(`generateKey(${name})`);
    const bytes = await start("crypto", "generateKey", { kind, curve: algorithm.namedCurve ?? "", length: algorithm.modulusLength ?? 0 });
    return pair(bytes, keyAlgorithm(algorithm), extractable, [...usages]);
  },
  async sign(algorithm, key, data) {
    requireUsage(key, "sign");
    if (nameOf(algorithm) === "HMAC") return hmac(key, data);
    const { parts, bytes } = concatInputs(key.secret, data);
    const signature = await start("crypto", "sign", { ...schemeOf(algorithm, key), parts }, bytes);
    return signature.buffer;
  },
  async verify(algorithm, key, signature, data) {
    requireUsage(key, "verify");
    if (nameOf(algorithm) === "HMAC") return equal(new Uint8Array(await hmac(key, data)), bytesOf(signature));
    const { parts, bytes } = concatInputs(key.secret, signature, data);
    return start("crypto", "verify", { ...schemeOf(algorithm, key), parts }, bytes);
  },
  async encrypt(algorithm, key, data) {
    requireUsage(key, "encrypt");
    return runCipher(algorithm, key, data, false);
  },
  async decrypt(algorithm, key, data) {
    requireUsage(key, "decrypt");
    return runCipher(algorithm, key, data, true);
  },
  async deriveBits(algorithm, key, length) {
    const name = nameOf(algorithm);
    if (name === "PBKDF2") {
      const { bytes } = concatInputs(key.secret, algorithm.salt);
      const options = { algorithm: hashName(algorithm), iterations: algorithm.iterations, length: length / 8, keyLength: key.secret.length };
      return (await start("crypto", "pbkdf2", options, bytes)).buffer;
    }
    if (name === "HKDF") {
      const { parts, bytes } = concatInputs(key.secret, algorithm.salt, algorithm.info);
      return (await start("crypto", "hkdf", { algorithm: hashName(algorithm), length: length / 8, parts }, bytes)).buffer;
    }
    throw unsupported(`deriveBits(${name})`);
  },
  async deriveKey(algorithm, key, derived, extractable, usages) {
    const bits = await subtle.deriveBits(algorithm, key, derived.length ?? 512);
    return subtle.importKey("raw", bits, derived, extractable, usages);
  },
};
for (const name of ["wrapKey", "unwrapKey"]) {
  subtle[name] = async () => {
    throw unsupported(name);
  };
}

export const crypto = {
  subtle,
  getRandomValues(array) {
    if (!ArrayBuffer.isView(array) || array instanceof DataView) throw new TypeError("expected an integer array");
    if (array.byteLength > 65536) throw new DOMException("cannot generate more than 65536 bytes per call", "QuotaExceededError");
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(callSync("crypto", "random", { length: array.byteLength }));
    return array;
  },
  randomUUID() {
    const bytes = callSync("crypto", "random", { length: 16 });
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  },
};
