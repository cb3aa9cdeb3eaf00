// dns.
import promises from "node:dns/promises";

export function lookup(name, options, callback) {
  const done = typeof options === "function" ? options : callback;
  const settings = typeof options === "object" ? options : typeof options === "number" ? { family: options } : {};
  promises.lookup(name, settings).then(
    (found) => setImmediate(() => (settings.all ? done(null, found) : done(null, found.address, found.family))),
    (error) => setImmediate(() => done(error)),
  );
}
export function setDefaultResultOrder() {}
export function getServers() {
  return [];
}
export { promises };
export default { lookup, setDefaultResultOrder, getServers, promises };
