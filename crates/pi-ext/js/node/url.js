// url.
import { callSync } from "pi:operations";
import { URL, URLSearchParams } from "pi:web/url";

export function fileURLToPath(url) {
  const href = typeof url === "string" ? url : url?.href;
  if (href === undefined) throw Object.assign(new TypeError('The "path" argument must be of type string or an instance of URL'), { code: "ERR_INVALID_ARG_TYPE" });
  return callSync("url", "toPath", { href });
}

export function pathToFileURL(path) {
  return new URL(callSync("url", "fromPath", { path: globalThis.process && !path.startsWith("/") && !/^[A-Za-z]:/.test(path) ? `${globalThis.process.cwd()}/${path}`.replace(/\/\.\//g, "/") : path }));
}

export function urlToHttpOptions(url) {
  return { protocol: url.protocol, hostname: url.hostname, hash: url.hash, search: url.search, pathname: url.pathname, path: `${url.pathname}${url.search}`, href: url.href, port: url.port === "" ? undefined : Number(url.port), auth: url.username ? `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` : undefined };
}

export function domainToASCII(domain) {
  return callSync("url", "toAscii", { href: domain });
}

export function domainToUnicode(domain) {
  return callSync("url", "toUnicode", { href: domain });
}

export class Url {}

// The legacy parser, for complete URLs and paths.
export function parse(text, parseQuery = false) {
  const result = Object.assign(new Url(), { protocol: null, slashes: null, auth: null, host: null, port: null, hostname: null, hash: null, search: null, query: null, pathname: null, path: null, href: text });
  const match = /^(?:([a-z][a-z0-9+.-]*:))?(\/\/)?(?:([^/?#@]*)@)?(.*)$/is.exec(text.trim());
  let rest = match[4];
  if (match[1]) result.protocol = match[1].toLowerCase();
  if (match[2]) {
    result.slashes = true;
    const end = /[/?#]/.exec(rest)?.index ?? rest.length;
    result.host = rest.slice(0, end).toLowerCase();
    const port = /:(\d+)$/.exec(result.host);
    result.port = port ? port[1] : null;
    result.hostname = port ? result.host.slice(0, -port[0].length) : result.host;
    result.auth = match[3] === undefined ? null : decodeURIComponent(match[3]);
    rest = rest.slice(end);
  } else if (match[3] !== undefined) {
    rest = `${match[3]}@${rest}`;
  }
  const hash = rest.indexOf("#");
  if (hash >= 0) [result.hash, rest] = [rest.slice(hash), rest.slice(0, hash)];
  const query = rest.indexOf("?");
  if (query >= 0) {
    result.search = rest.slice(query);
    result.query = rest.slice(query + 1);
    rest = rest.slice(0, query);
  }
  if (parseQuery) result.query = Object.fromEntries(new URLSearchParams(result.query ?? ""));
  result.pathname = rest || (result.slashes ? "/" : null);
  result.path = result.pathname === null && result.search === null ? null : `${result.pathname ?? ""}${result.search ?? ""}`;
  result.href = format(result);
  return result;
}

export function format(value, options) {
  if (typeof value === "string") return parse(value).href;
  if (value instanceof URL) {
    const copy = new URL(value.href);
    if (options?.fragment === false) copy.hash = "";
    if (options?.search === false) copy.search = "";
    return copy.href;
  }
  const protocol = value.protocol ? (value.protocol.endsWith(":") ? value.protocol : `${value.protocol}:`) : "";
  const auth = value.auth ? `${encodeURIComponent(value.auth).replace("%3A", ":")}@` : "";
  const host = value.host ?? (value.hostname ? `${value.hostname}${value.port ? `:${value.port}` : ""}` : "");
  const slashes = value.slashes || (host && /^(https?|ftp|file):$/.test(protocol)) ? "//" : "";
  const query = value.query && typeof value.query === "object" ? new URLSearchParams(value.query).toString() : "";
  const search = value.search ?? (query ? `?${query}` : "");
  return `${protocol}${slashes}${auth}${host}${value.pathname ?? ""}${search}${value.hash ?? ""}`;
}

export function resolve(from, to) {
  const base = new URL(from, "resolve://");
  const url = new URL(to, base);
  return url.protocol === "resolve:" ? `${url.pathname}${url.search}${url.hash}` : url.href;
}

export { URL, URLSearchParams };
export default { URL, URLSearchParams, Url, fileURLToPath, pathToFileURL, urlToHttpOptions, domainToASCII, domainToUnicode, parse, format, resolve };
