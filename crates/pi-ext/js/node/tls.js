// tls: client and server. The client trusts the platform's roots or the given certificate authorities.
import { start } from "pi:operations";
import { Buffer } from "node:buffer";
import { Server as SocketServer, Socket, isIP } from "node:net";

// Converts a certificate or key to PEM text. Accepts text, bytes, objects and lists.
function pemOf(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(pemOf).join("\n");
  if (typeof value === "string") return value;
  return ArrayBuffer.isView(value) ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString() : pemOf(value.pem ?? value.key);
}

function unavailable(feature) {
  return Object.assign(new Error(`${feature} is not available to extensions`), { code: "ERR_NOT_AVAILABLE" });
}

export class TLSSocket extends Socket {
  encrypted = true;
  authorized = false;
  authorizationError = null;
  alpnProtocol = false;
  #version = null;

  constructor(socket, options) {
    if (socket && !(socket instanceof Socket)) throw unavailable("TLS over a stream that is not a net.Socket");
    super(options);
  }
  // TLS options for the native connect operation.
  _secured(options) {
    if (options.rejectUnauthorized === false) throw unavailable("TLS without certificate verification (rejectUnauthorized: false)");
    const protocols = (options.ALPNProtocols ?? []).map(String);
    const authorities = pemOf(options.ca ?? options.secureContext?.context.ca);
    return { secure: options.servername || (options.host ?? options.hostname ?? "localhost"), protocols, authorities };
  }
  connect(options, ...rest) {
    if (!options?.socket) return super.connect(options, ...rest);
    const { socket } = options;
    this.connecting = true;
    this.once("close", () => socket.destroy());
    this._open(socket._giveAway().then((id) => start("net", "secure", { id, ...this._secured(options) })));
    return this;
  }
  _connected({ protocol, version }) {
    this.authorized = true;
    this.alpnProtocol = protocol ?? false;
    this.#version = version ?? null;
    queueMicrotask(() => this.emit("secureConnect"));
  }
  getProtocol() {
    return this.#version;
  }
  getCipher() {
    return { name: "unknown", standardName: "unknown", version: this.#version };
  }
  getPeerCertificate() {
    return {};
  }
  getSession() {
    return undefined;
  }
  isSessionReused() {
    return false;
  }
  setServername() {}
  enableTrace() {}
  disableRenegotiation() {}
}

export function connect(...args) {
  const listener = typeof args.at(-1) === "function" ? args.pop() : undefined;
  const [first, second, third] = args;
  const options = typeof first === "object" ? { ...first } : { port: Number(first), ...(typeof second === "string" ? { host: second, ...third } : second) };
  const socket = new TLSSocket(options.socket, options);
  if (listener) socket.once("secureConnect", listener);
  return socket.connect(options);
}

export function createSecureContext(options = {}) {
  return { context: options };
}

export function checkServerIdentity(host) {
  // Already verified in the handshake.
  return isIP(host) || host ? undefined : new Error("no server name to check");
}

export const rootCertificates = [];
export const DEFAULT_MIN_VERSION = "TLSv1.2";
export const DEFAULT_MAX_VERSION = "TLSv1.3";
export const DEFAULT_ECDH_CURVE = "auto";
export function getCiphers() {
  return ["tls_aes_128_gcm_sha256", "tls_aes_256_gcm_sha384", "tls_chacha20_poly1305_sha256"];
}

export class Server extends SocketServer {
  constructor(options = {}, listener) {
    super();
    const { cert, key, pfx, passphrase, ALPNProtocols } = typeof options === "function" ? {} : options;
    if (pfx || passphrase) throw unavailable("a server key in PKCS #12 format or with a passphrase");
    const onConnection = typeof options === "function" ? options : listener;
    if (onConnection) this.on("secureConnection", onConnection);
    const protocols = (ALPNProtocols ?? []).map(String);
    let identity;
    this.on("connection", async (raw) => {
      try {
        identity ??= start("net", "identity", { certificate: pemOf(cert), key: pemOf(key), protocols });
        const { id: own } = await identity;
        const socket = new TLSSocket();
        socket._adopt(await start("net", "secureAccepted", { id: await raw._giveAway(), identity: own }));
        socket.once("close", () => raw.destroy());
        this.emit("secureConnection", socket);
      } catch (error) {
        raw.destroy();
        this.emit("tlsClientError", error, raw);
      }
    });
  }
}

export function createServer(options, listener) {
  return new Server(options, listener);
}

export default { TLSSocket, connect, createSecureContext, checkServerIdentity, rootCertificates, DEFAULT_MIN_VERSION, DEFAULT_MAX_VERSION, DEFAULT_ECDH_CURVE, getCiphers, Server, createServer };
