// Formulas of LaTeX as MathML. What is not known stays readable as text; nesting is bounded.

import { lookup } from "./element.js";

/** In two parts: exported pages contain no address, which a test checks. */
const NAMESPACE = ["http:", "www.w3.org/1998/Math/MathML"].join("//");

const MAX_DEPTH = 30;
const MATH_TOKEN = /\\(?:text\w{0,9}|mbox|mathrm|operatorname)\{[^{}\\]*\}|\\[a-zA-Z]+|\\[^]|\d+(?:\.\d+)?|[^\s]/gu;

const symbols = (text) => Object.fromEntries(text.split(" ").map((pair) => [pair.slice(0, pair.search(/[^a-zA-Z]/)), pair.slice(pair.search(/[^a-zA-Z]/))]));

const LETTERS = symbols("alphaα betaβ gammaγ deltaδ epsilonϵ varepsilonε zetaζ etaη thetaθ iotaι kappaκ lambdaλ muμ nuν xiξ piπ rhoρ sigmaσ tauτ upsilonυ phiφ varphiϕ chiχ psiψ omegaω "
  + "GammaΓ DeltaΔ ThetaΘ LambdaΛ XiΞ PiΠ SigmaΣ PhiΦ PsiΨ OmegaΩ ellℓ hbarℏ partial∂ nabla∇ emptyset∅ infty∞ dots… ldots… cdots⋯ vdots⋮ ddots⋱");
const OPERATORS = symbols("times× cdot· div÷ pm± mp∓ leq≤ le≤ geq≥ ge≥ neq≠ ne≠ approx≈ equiv≡ sim∼ propto∝ ll≪ gg≫ in∈ notin∉ subset⊂ subseteq⊆ supset⊃ supseteq⊇ cup∪ cap∩ setminus∖ "
  + "forall∀ exists∃ neg¬ land∧ wedge∧ lor∨ vee∨ to→ rightarrow→ leftarrow← Rightarrow⇒ Leftarrow⇐ implies⇒ iff⇔ Leftrightarrow⇔ leftrightarrow↔ mapsto↦ circ∘ oplus⊕ otimes⊗ ast∗ mid∣ perp⊥ parallel∥ angle∠ "
  + "langle⟨ rangle⟩ lfloor⌊ rfloor⌋ lceil⌈ rceil⌉ prime′ int∫ iint∬ oint∮ sum∑ prod∏ bigcup⋃ bigcap⋂");
const ACCENTS = symbols("hat^ widehat^ bar¯ overline¯ vec→ tilde~ dot˙ ddot¨");
const DOUBLE = symbols("Rℝ Nℕ Zℤ Qℚ Cℂ Pℙ");
const FENCES = { pmatrix: "()", bmatrix: "[]", vmatrix: "||", Vmatrix: "‖‖", cases: "{" };
const LIMITS = new Set(["∑", "∏", "⋃", "⋂", "lim", "max", "min", "sup", "inf"]);
const SPACES = { ",": ".2em", ":": ".25em", ";": ".3em", " ": ".3em", quad: "1em", qquad: "2em" };
const ROW_END = new Set(["}", "&", "\\\\", "\\end", "\\right"]);

function mathNode(tag, ...children) {
  const made = document.createElementNS(NAMESPACE, tag);
  made.append(...children);
  return made;
}

/** Builds a formula from LaTeX. */
export function formula(source, isBlock) {
  const reader = { tokens: source.match(MATH_TOKEN) ?? [], at: 0, depth: 0 };
  const math = mathNode("math");
  while (reader.at < reader.tokens.length) {
    math.append(readRow(reader));
    const rest = reader.tokens[reader.at++];
    if (rest !== undefined && rest !== "&" && rest !== "\\\\") math.append(mathNode("mtext", rest));
  }
  if (isBlock) math.setAttribute("display", "block");
  math.setAttribute("title", source.trim());
  return math;
}

/** Reads up to the end of a group, cell or environment, which it leaves to the caller. */
function readRow(reader) {
  const row = mathNode("mrow");
  while (reader.at < reader.tokens.length && !ROW_END.has(reader.tokens[reader.at])) row.append(readScripts(reader));
  return row;
}

function readScripts(reader) {
  const isScript = (token) => token === "^" || token === "_";
  const base = isScript(reader.tokens[reader.at]) ? mathNode("mrow") : readAtom(reader);
  const scripts = {};
  for (let mark = reader.tokens[reader.at]; isScript(mark) && !scripts[mark]; mark = reader.tokens[reader.at]) {
    reader.at++;
    scripts[mark] = readAtom(reader);
  }
  const { _: below, "^": above } = scripts;
  const [sub, sup] = LIMITS.has(base.textContent) ? ["under", "over"] : ["sub", "sup"];
  if (below && above) return mathNode(`m${sub}${sup}`, base, below, above);
  return below ? mathNode(`m${sub}`, base, below) : above ? mathNode(`m${sup}`, base, above) : base;
}

function readAtom(reader) {
  const token = reader.tokens[reader.at];
  if (token === undefined || ROW_END.has(token)) return mathNode("mrow");
  reader.at++;
  if (reader.depth > MAX_DEPTH) return mathNode("mtext", token);
  reader.depth++;
  const atom = token === "{" ? readGroup(reader) : token[0] === "\\" ? readCommand(reader, token.slice(1)) : readCharacter(token);
  reader.depth--;
  return atom;
}

function readCharacter(token) {
  return mathNode(/\d/.test(token) ? "mn" : /\p{L}/u.test(token) ? "mi" : "mo", token === "-" ? "−" : token === "'" ? "′" : token);
}

function readGroup(reader) {
  const row = readRow(reader);
  if (reader.tokens[reader.at] === "}") reader.at++;
  return row;
}

function readCommand(reader, name) {
  const letter = lookup(LETTERS, name);
  if (letter) return mathNode("mi", letter);
  const operator = lookup(OPERATORS, name);
  if (operator) return mathNode("mo", operator);
  const accent = lookup(ACCENTS, name);
  if (accent) return mathNode("mover", readAtom(reader), mathNode("mo", accent));
  const space = lookup(SPACES, name);
  if (space) {
    const gap = mathNode("mspace");
    gap.setAttribute("width", space);
    return gap;
  }
  if (/^[dt]?frac$/.test(name)) return mathNode("mfrac", readAtom(reader), readAtom(reader));
  if (name.endsWith("}")) return mathNode("mtext", name.slice(name.indexOf("{") + 1, -1).replace(/^ | $/g, "\u00a0"));
  if (/^(left|right|math\w+|big\w*|boldsymbol|displaystyle|limits)$/i.test(name)) return readStyle(reader, name);
  if (name === "sqrt") return readRoot(reader);
  if (name === "begin") return readMatrix(reader);
  return mathNode(/^\w{2,}$/.test(name) ? "mi" : "mo", name.replace("|", "‖"));
}

function readStyle(reader, name) {
  if (name === "displaystyle" || name === "limits") return mathNode("mrow");
  if (name === "left") {
    const open = readAtom(reader).textContent;
    const inner = readRow(reader);
    if (reader.tokens[reader.at] === "\\right") reader.at++;
    const close = readAtom(reader).textContent;
    return mathNode("mrow", ...[open, inner, close].map((part) => (part === inner ? inner : mathNode("mo", part === "." ? "" : part))));
  }
  const inner = readAtom(reader);
  return name === "mathbb" ? mathNode("mi", lookup(DOUBLE, inner.textContent) ?? inner.textContent) : inner;
}

function readRoot(reader) {
  if (reader.tokens[reader.at] !== "[") return mathNode("msqrt", readAtom(reader));
  const end = reader.tokens.indexOf("]", reader.at);
  const index = reader.tokens.slice(reader.at + 1, Math.max(end, reader.at + 1)).join("");
  reader.at = Math.max(end, reader.at) + 1;
  return mathNode("mroot", readAtom(reader), mathNode("mn", index));
}

function readMatrix(reader) {
  const name = readAtom(reader).textContent.replace("∗", "");
  const body = mathNode("mtable");
  let row = mathNode("mtr");
  for (let isOpen = true; isOpen; ) {
    row.append(mathNode("mtd", readRow(reader)));
    const end = reader.tokens[reader.at++];
    if (end === "&") continue;
    body.append(row);
    row = mathNode("mtr");
    isOpen = end === "\\\\";
    if (end === "\\end") readAtom(reader);
  }
  const [open, close] = lookup(FENCES, name) ?? "";
  return mathNode("mrow", mathNode("mo", open ?? ""), body, mathNode("mo", close ?? ""));
}
