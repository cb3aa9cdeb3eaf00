// Conversion between JSON Web Keys and DER: PKCS #8 for private keys, X.509 for public keys.
import { Buffer } from "node:buffer";

const OID = { rsa: "2a864886f70d010101", ec: "2a8648ce3d0201", ed25519: "2b6570" };
const CURVES = {
  "P-256": { oid: "2a8648ce3d030107", size: 32 },
  "P-384": { oid: "2b81040022", size: 48 },
  "P-521": { oid: "2b81040023", size: 66 },
};
const [INTEGER, BITS, OCTETS, NULL, IDENTIFIER, SEQUENCE, PUBLIC_KEY] = [0x02, 0x03, 0x04, 0x05, 0x06, 0x30, 0xa1];
const RSA_PRIVATE = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];

function invalidKey(reason) {
  return Object.assign(new Error(`invalid key: ${reason}`), { code: "ERR_CRYPTO_INVALID_JWK" });
}

// Parses a sequence of DER values.
function read(der) {
  const values = [];
  let offset = 0;
  while (offset < der.length) {
    const tag = der[offset];
    let length = der[offset + 1];
    offset += 2;
    if (length >= 0x80) {
      const size = length & 0x7f;
      if (size === 0 || size > 4 || offset + size > der.length) throw invalidKey("malformed encoding");
      length = der.readUIntBE(offset, size);
      offset += size;
    }
    if (length === undefined || offset + length > der.length) throw invalidKey("malformed encoding");
    values.push({ tag, content: der.subarray(offset, offset + length) });
    offset += length;
  }
  return values;
}

function write(tag, ...contents) {
  const content = Buffer.concat(contents);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = Buffer.from(length.toString(16).padStart(length < 0x100 ? 2 : 4, "0"), "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, content]);
}

const hex = (text) => Buffer.from(text, "hex");
const encode = (bytes) => Buffer.from(bytes).toString("base64url");

function decode(jwk, name) {
  if (typeof jwk[name] !== "string") throw invalidKey(`missing "${name}"`);
  return Buffer.from(jwk[name], "base64url");
}

// Integers are unsigned in JWK and signed in DER.
function unsigned(bytes) {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  return bytes.subarray(start);
}
function integer(bytes) {
  const number = unsigned(bytes);
  return write(INTEGER, number[0] >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0), number);
}
// Coordinates have the byte size of the curve.
function padded(bytes, size) {
  const number = unsigned(bytes);
  return number.length < size ? Buffer.concat([Buffer.alloc(size - number.length), number]) : number;
}

function curveOf(oid) {
  const found = Object.entries(CURVES).find(([, curve]) => curve.oid === oid);
  if (!found) throw invalidKey("unknown curve");
  return found;
}

// Splits a public key into its algorithm and key.
function publicParts(der) {
  const [algorithm, key] = read(read(der)[0].content);
  const [name, parameter] = read(algorithm.content);
  return { name: name.content.toString("hex"), parameter: parameter?.content.toString("hex"), key: key.content.subarray(1) };
}

function publicJwk(der) {
  const { name, parameter, key } = publicParts(der);
  if (name === OID.rsa) {
    const [n, e] = read(read(key)[0].content).map(({ content }) => encode(unsigned(content)));
    return { kty: "RSA", n, e };
  }
  if (name === OID.ed25519) return { crv: "Ed25519", x: encode(key), kty: "OKP" };
  const [crv, { size }] = curveOf(parameter);
  return { kty: "EC", x: encode(key.subarray(1, 1 + size)), y: encode(key.subarray(1 + size)), crv };
}

// Converts a key to a JWK. A private key also needs its public key.
export function toJwk(type, der, publicDer) {
  const jwk = publicJwk(type === "public" ? der : publicDer);
  if (type === "public") return jwk;
  // Some keys lack the PKCS #8 wrapper that names the algorithm.
  const outer = read(read(der)[0].content);
  const inner = outer[1]?.tag === SEQUENCE ? outer[2].content : der;
  if (jwk.kty === "OKP") return { crv: jwk.crv, d: encode(read(inner)[0].content), x: jwk.x, kty: jwk.kty };
  const values = read(read(inner)[0].content);
  if (jwk.kty === "EC") return { ...jwk, d: encode(padded(values[1].content, CURVES[jwk.crv].size)) };
  return { kty: "RSA", ...Object.fromEntries(RSA_PRIVATE.map((name, index) => [name, encode(unsigned(values[index + 1].content))])) };
}

function algorithm(oid, parameter) {
  return write(SEQUENCE, write(IDENTIFIER, hex(oid)), ...(parameter === undefined ? [] : [parameter]));
}
const publicKey = (name, key) => write(SEQUENCE, name, write(BITS, Buffer.from([0]), key));
const privateKey = (name, key) => write(SEQUENCE, integer(Buffer.from([0])), name, write(OCTETS, key));

// Converts a JWK to its type and DER encoding.
export function fromJwk(jwk) {
  const type = jwk?.d === undefined ? "public" : "private";
  if (jwk?.kty === "RSA") {
    const name = algorithm(OID.rsa, write(NULL));
    if (type === "public") return { type, der: publicKey(name, write(SEQUENCE, integer(decode(jwk, "n")), integer(decode(jwk, "e")))) };
    const numbers = RSA_PRIVATE.map((member) => integer(decode(jwk, member)));
    return { type, der: privateKey(name, write(SEQUENCE, integer(Buffer.from([0])), ...numbers)) };
  }
  if (jwk?.kty === "OKP" && jwk.crv === "Ed25519") {
    const name = algorithm(OID.ed25519);
    return { type, der: type === "public" ? publicKey(name, decode(jwk, "x")) : privateKey(name, write(OCTETS, decode(jwk, "d"))) };
  }
  const curve = jwk?.kty === "EC" ? CURVES[jwk.crv] : undefined;
  if (!curve) throw invalidKey("unsupported key type");
  const name = algorithm(OID.ec, write(IDENTIFIER, hex(curve.oid)));
  const point = Buffer.concat([Buffer.from([4]), padded(decode(jwk, "x"), curve.size), padded(decode(jwk, "y"), curve.size)]);
  if (type === "public") return { type, der: publicKey(name, point) };
  const secret = write(OCTETS, padded(decode(jwk, "d"), curve.size));
  const publicPart = write(PUBLIC_KEY, write(BITS, Buffer.from([0]), point));
  return { type, der: privateKey(name, write(SEQUENCE, integer(Buffer.from([1])), secret, publicPart)) };
}
