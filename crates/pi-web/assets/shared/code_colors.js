// Colors of code: comments, strings, numbers, keywords, calls and types. A family of languages shares a pattern;
// none of them backtracks, so the running time is linear.

import { element, lookup } from "./element.js";

/** Longer texts are not colored. */
const MAX_LENGTH = 200_000;

const STRING = '"""[^]*?(?:"""|$)|"(?:\\\\.|[^"\\\\\\n])*"?';
const QUOTED = `${STRING}|'(?:\\\\.|[^'\\\\\\n])*'?`;
const C_COMMENT = "(?<!:)\\/\\/.*|\\/\\*[^]*?(?:\\*\\/|$)";

/** Languages and file extensions, what a comment is, and what a string is. */
const FAMILIES = [
  ["c cc cpp h hpp cs java js jsx mjs cjs ts tsx mts javascript typescript json jsonc json5 go swift kotlin kt scala php dart css scss less proto zig groovy", C_COMMENT, `${QUOTED}|\`(?:\\\\[^]|[^\`\\\\])*\`?`],
  ["rust rs", C_COMMENT, `${STRING}|'(?:\\\\[^'\\n]{1,9}|[^'\\\\\\n])'`],
  ["py python rb ruby sh bash zsh fish shell console yaml yml toml ini conf perl pl r julia jl elixir ex exs dockerfile makefile make cmake nix ps1 powershell", "(?<!\\S)#.*", `'''[^]*?(?:'''|$)|${QUOTED}`],
  ["sql lua haskell hs elm", "--.*", QUOTED],
  ["html xml svg vue svelte", "<!--[^]*?(?:-->|$)|<\\/?[\\w:-]+|\\/?>", STRING],
];

const KEYWORDS = new Set(("abstract alignas and any as assert async await begin bool break case catch char class const constexpr constructor continue crate declare def default defer del delete "
  + "do done double dyn elif else elsif end ensure enum esac except export extends extern false fi final finally float fn for foreach from func function get global go goto "
  + "if impl implements import in include inline instanceof int interface is lambda let long local loop match mod module mut mutable namespace new nil not null None object of operator or override "
  + "package pass private protected protocol pub public raise readonly ref require return self Self set short signed sizeof static struct super switch template then this throw trait true True False try type typedef typeof "
  + "undefined union unless unsafe unsigned until use using val var virtual void volatile when where while with yield "
  + "select insert update into values table join left right inner outer on group order by having limit create drop alter primary key index distinct").split(" "));

const PATTERNS = Object.fromEntries(FAMILIES.flatMap(([names, comment, string]) => {
  const pattern = new RegExp(`(${comment})|(${string})|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`, "g");
  return names.split(" ").map((name) => [name, pattern]);
}));

/** Builds code, colored if its language is known. */
export function coloredCode(text, language) {
  const fragment = document.createDocumentFragment();
  const name = String(language).toLowerCase();
  const pattern = text.length > MAX_LENGTH ? undefined : lookup(PATTERNS, name);
  let from = 0;
  for (const token of pattern ? text.matchAll(pattern) : []) {
    const kind = tokenKind(token, text, name);
    if (kind === undefined) continue;
    fragment.append(text.slice(from, token.index), element("span", { class: `k-${kind}` }, token[0]));
    from = token.index + token[0].length;
  }
  fragment.append(text.slice(from));
  return fragment;
}

function tokenKind([token, comment, string, number, word], text, name) {
  if (comment) return comment[0] === "<" && comment[1] !== "!" || comment.endsWith(">") && comment.length < 3 ? "keyword" : "comment";
  if (string) return "string";
  if (number) return "number";
  if (KEYWORDS.has(name === "sql" ? word.toLowerCase() : word)) return "keyword";
  return /^[A-Z].*[a-z]/.test(token) ? "type" : undefined;
}

/** Returns the language of a file by its extension or name. */
export function languageOf(path) {
  return String(path).split(/[./\\]/).at(-1).toLowerCase();
}
