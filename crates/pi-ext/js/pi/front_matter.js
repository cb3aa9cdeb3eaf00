// Front matter: keys and simple values between `---` lines at the start of a text.
function split(content) {
  const text = content.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
  const end = text.startsWith("---") ? text.indexOf("\n---", 3) : -1;
  if (end < 0) return { lines: [], body: text };
  return { lines: text.slice(4, end).split("\n"), body: text.slice(end + 4).trim() };
}

function valueOf(text) {
  const value = text.trim();
  if (/^(".*"|'.*')$/s.test(value)) return value.slice(1, -1);
  if (/^\[.*\]$/s.test(value)) return value.slice(1, -1).split(",").map(valueOf).filter((item) => item !== "");
  if (value === "true" || value === "false") return value === "true";
  if (value === "" || value === "null" || value === "~") return null;
  return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

// Returns the front matter and the text after it.
export function parseFrontmatter(content) {
  const { lines, body } = split(content);
  const frontmatter = {};
  let key;
  for (const line of lines) {
    const item = /^\s+-\s+(.*)$/.exec(line);
    const pair = /^([^\s:#][^:]*):(.*)$/.exec(line);
    if (item && key) (frontmatter[key] = Array.isArray(frontmatter[key]) ? frontmatter[key] : []).push(valueOf(item[1]));
    else if (pair) frontmatter[(key = pair[1].trim())] = valueOf(pair[2]);
  }
  return { frontmatter, body };
}

// Returns the text without its front matter.
export function stripFrontmatter(content) {
  return split(content).body;
}
