// querystring.
export function escape(text) {
  return encodeURIComponent(text);
}
export function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
export function parse(text, separator = "&", equals = "=", options = {}) {
  const result = Object.create(null);
  const decode = options.decodeURIComponent ?? unescape;
  for (const part of String(text).split(separator).slice(0, options.maxKeys ?? 1000)) {
    if (part === "") continue;
    const position = part.indexOf(equals);
    const name = decode((position < 0 ? part : part.slice(0, position)).replace(/\+/g, " "));
    const value = position < 0 ? "" : decode(part.slice(position + equals.length).replace(/\+/g, " "));
    if (name in result) result[name] = [result[name], value].flat();
    else result[name] = value;
  }
  return result;
}
export function stringify(object, separator = "&", equals = "=", options = {}) {
  const encode = options.encodeURIComponent ?? escape;
  const text = (value) => (["string", "number", "bigint", "boolean"].includes(typeof value) ? String(value) : "");
  return Object.entries(object ?? {})
    .flatMap(([name, value]) => [value].flat().map((item) => `${encode(name)}${equals}${encode(text(item))}`))
    .join(separator);
}
export const decode = parse;
export const encode = stringify;
export default { escape, unescape, parse, stringify, decode, encode };
