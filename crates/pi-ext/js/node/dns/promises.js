// dns/promises.
import { start } from "pi:operations";

export async function lookup(name, options = {}) {
  const settings = typeof options === "number" ? { family: options } : options;
  const family = { IPv4: 4, IPv6: 6 }[settings.family] ?? settings.family ?? 0;
  const all = await start("net", "lookup", { host: name });
  const found = family ? all.filter((entry) => entry.family === family) : all;
  if (found.length === 0) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: "ENOTFOUND", hostname: name, syscall: "getaddrinfo" });
  return settings.all ? found : found[0];
}
export async function resolve4(name) {
  return (await lookup(name, { family: 4, all: true })).map((entry) => entry.address);
}
export async function resolve6(name) {
  return (await lookup(name, { family: 6, all: true })).map((entry) => entry.address);
}
export const resolve = resolve4;
export default { lookup, resolve, resolve4, resolve6 };
