// Colors of code: comments, strings, numbers, keywords, calls and types. A family of languages shares a pattern;
// none of them backtracks, so the running time is linear.

import { element, lookup } from "./element.js";

/** Longer texts are not colored. */
const MAX_LENGTH = 200_000;

const STRING = '"""[^]*?(?:"""|$)|"(?:\\\\.|[^"\\\\\\n])*"?';
const QUOTED = `${STRING}|'(?:\\\\.|[^'\\\\\\n])*'?`;
const C_COMMENT = "(?<!:)\\/\\/.*|\\/\\*[^]*?(?:\\*\\/|$)";

const words = (text) => new Set(text.split(" "));

const KEYWORDS = words("abstract as async await bool break case catch char class const constexpr constructor continue crate debugger declare default defer delete do double dyn else enum export extends extern false final finally "
  + "float fn for foreach from func function get go goto if impl implements import in inline instanceof int interface let long loop match mod mut mutable namespace new nil null of operator override package private "
  + "protected pub public readonly ref return self Self set short signed sizeof static struct super switch template this throw throws trait true try type typedef typeof undefined union unsafe unsigned use using var virtual "
  + "void volatile where while with yield");

const SCRIPT_KEYWORDS = words("alias and as assert async await begin break case catch class continue def defmodule del do done elif else elsif end ensure esac except export extends false False fi finally fn for foreach from func function "
  + "global if import in include is lambda let local match module new next nil None nonlocal not of open or pass private public raise redo rescue require return self sub super then true True try type unless until use where while with yield");

const SQL_KEYWORDS = words("all alter and as asc begin between by case check commit constraint create cross default delete desc distinct drop else end exists false from full group having if in index inner insert into is join key "
  + "left like limit not null offset on or order outer over partition primary references returning right rollback select set table then true union unique update using values view when where with");

/** Languages and file extensions, what a comment is, what a string is, and the keywords. @type {[string, string, string, Set<string>][]} */
const FAMILIES = [
  ["c cc cpp h hpp cs java js jsx mjs cjs ts tsx mts javascript typescript json jsonc json5 go swift kotlin kt scala php dart css scss less proto zig groovy", C_COMMENT, `${QUOTED}|\`(?:\\\\[^]|[^\`\\\\])*\`?`, KEYWORDS],
  ["rust rs", C_COMMENT, `${STRING}|'(?:\\\\[^'\\n]{1,9}|[^'\\\\\\n])'`, KEYWORDS],
  ["py python rb ruby sh bash zsh fish shell console yaml yml toml ini conf perl pl r julia jl elixir ex exs dockerfile makefile make cmake nix ps1 powershell", "(?<!\\S)#.*", `'''[^]*?(?:'''|$)|${QUOTED}`, SCRIPT_KEYWORDS],
  ["lua haskell hs elm", "--.*", QUOTED, SCRIPT_KEYWORDS],
  ["sql", "--.*", QUOTED, SQL_KEYWORDS],
  ["html xml svg vue svelte", "<!--[^]*?(?:-->|$)|<\\/?[\\w:-]+|\\/?>", STRING, new Set()],
];

const LANGUAGES = Object.fromEntries(FAMILIES.flatMap(([names, comment, string, keywords]) => {
  const pattern = new RegExp(`(${comment})|(${string})|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`, "g");
  return names.split(" ").map((name) => [name, { pattern, keywords }]);
}));

/** Builds code, colored if its language is known. */
export function coloredCode(text, language) {
  const fragment = document.createDocumentFragment();
  const name = String(language).toLowerCase();
  const known = text.length > MAX_LENGTH ? undefined : lookup(LANGUAGES, name);
  let from = 0;
  for (const token of known ? text.matchAll(known.pattern) : []) {
    const kind = tokenKind(token, known.keywords);
    if (kind === undefined) continue;
    fragment.append(text.slice(from, token.index), element("span", { class: `k-${kind}` }, token[0]));
    from = token.index + token[0].length;
  }
  fragment.append(text.slice(from));
  return fragment;
}

function tokenKind([token, comment, string, number, word], keywords) {
  if (comment) return comment[0] === "<" && comment[1] !== "!" || comment.endsWith(">") && comment.length < 3 ? "keyword" : "comment";
  if (string) return "string";
  if (number) return "number";
  if (keywords.has(keywords === SQL_KEYWORDS ? word.toLowerCase() : word)) return "keyword";
  return /^[A-Z].*[a-z]/.test(token) ? "type" : undefined;
}

/** Returns the language of a file by its extension or name. */
export function languageOf(path) {
  return String(path).split(/[./\\]/).at(-1).toLowerCase();
}
