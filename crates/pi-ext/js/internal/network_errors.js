// Errors of connections with the wording and the fields of Node. Loaded when something has failed.
import { start } from "pi:operations";

const NUMBERS = { EADDRINUSE: -98, ENETUNREACH: -101, ECONNRESET: -104, ETIMEDOUT: -110, ECONNREFUSED: -111, EHOSTUNREACH: -113 };
const UNKNOWN_NAME = /lookup address|dns error|Name or service not known|nodename nor servname/i;

function refused(code, address, port) {
  return Object.assign(new Error(`connect ${code} ${address}:${port}`), { errno: NUMBERS[code], code, syscall: "connect", address, port });
}

async function addressesOf(host) {
  if (/^[\d.]+$|:/.test(host)) return [host];
  try {
    const all = await start("net", "lookup", { host });
    return [...new Set(all.map(({ address }) => address))];
  } catch {
    return [host];
  }
}

/** Returns the error of a connection to `{host, port}` or `{path}`. */
export async function connectionError(error, { path, host, port }) {
  const { code } = error;
  if (path !== undefined) {
    return Object.assign(new Error(`connect ${code} ${path}`), { errno: error.errno, code, syscall: "connect", address: path });
  }
  if (UNKNOWN_NAME.test(error.message)) {
    return Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { errno: -3008, code: "ENOTFOUND", syscall: "getaddrinfo", hostname: host });
  }
  if (!["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"].includes(code)) return error;
  const errors = (await addressesOf(host)).map((address) => refused(code, address, port));
  return errors.length === 1 ? errors[0] : Object.assign(new AggregateError(errors, ""), { code });
}

/** Returns the error of a request to a URL. */
export function fetchError(error, url) {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  return connectionError(error, { host, port: Number(port || (protocol === "https:" ? 443 : 80)) });
}

/** Returns the error of a server that cannot listen on `{host, port}` or `{path}`. */
export function listenError(error, { path, host, port }) {
  const { code } = error;
  const text = code === "EADDRINUSE" ? "address already in use" : code === "EACCES" ? "permission denied" : undefined;
  if (text === undefined) return error;
  const address = path === undefined ? { address: host, port } : { address: path, port: -1 };
  return Object.assign(new Error(`listen ${code}: ${text} ${path ?? `${host}:${port}`}`), { code, errno: error.errno ?? NUMBERS[code], syscall: "listen", ...address });
}
