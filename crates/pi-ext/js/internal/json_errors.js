// Error messages of `JSON.parse` as in V8, which people search for and programs match. Loaded when parsing has failed.

// Characters shown on either side of an unexpected one.
const CONTEXT = 10;
// Longer texts are shortened.
const SHORT = 2 * CONTEXT;
const WHITESPACE = " \t\n\r";
const SPECIAL = new Set(["NaN", "Infinity", "undefined", "[object Object]"]);

class Mismatch {
  constructor(position, message) {
    this.position = position;
    this.message = message;
  }
}

function skipWhitespace(text, position) {
  while (position < text.length && WHITESPACE.includes(text[position])) position += 1;
  return position;
}

function isDigit(character) {
  return character !== undefined && character >= "0" && character <= "9";
}

function skipDigits(text, position) {
  while (isDigit(text[position])) position += 1;
  return position;
}

function skipString(text, start) {
  let position = start + 1;
  for (;;) {
    if (position >= text.length) throw new Mismatch(position, "Unterminated string");
    const character = text[position];
    if (character === '"') return position + 1;
    if (character < " ") throw new Mismatch(position, "Bad control character in string literal");
    position += 1;
    if (character !== "\\") continue;
    if (position >= text.length) throw new Mismatch(position);
    if (text[position] === "u") {
      for (let digit = 0; digit < 4; digit += 1) {
        position += 1;
        if (!/[0-9a-fA-F]/.test(text[position] ?? "")) throw new Mismatch(position, "Bad Unicode escape");
      }
    } else if (!'"\\/bfnrt'.includes(text[position])) {
      throw new Mismatch(position, text[position] > "\xff" ? undefined : "Bad escaped character");
    }
    position += 1;
  }
}

function skipNumber(text, start) {
  let position = start;
  if (text[position] === "-") {
    position += 1;
    if (!isDigit(text[position])) throw new Mismatch(position, "No number after minus sign");
  }
  if (text[position] === "0") {
    position += 1;
    if (isDigit(text[position])) throw new Mismatch(position, "Unexpected number");
  } else {
    position = skipDigits(text, position);
  }
  if (text[position] === ".") {
    position += 1;
    if (!isDigit(text[position])) throw new Mismatch(position, "Unterminated fractional number");
    position = skipDigits(text, position);
  }
  if (text[position] === "e" || text[position] === "E") {
    position += 1;
    if (text[position] === "+" || text[position] === "-") position += 1;
    if (!isDigit(text[position])) throw new Mismatch(position, "Exponent part is missing a number");
    position = skipDigits(text, position);
  }
  return position;
}

function skipWord(text, start, word) {
  for (let index = 0; index < word.length; index += 1) {
    if (text[start + index] !== word[index]) throw new Mismatch(start + index);
  }
  return start + word.length;
}

function skipScalar(text, position) {
  const character = text[position];
  if (character === '"') return skipString(text, position);
  if (character === "-" || isDigit(character)) return skipNumber(text, position);
  const word = { t: "true", f: "false", n: "null" }[character];
  if (word === undefined) throw new Mismatch(position);
  return skipWord(text, position, word);
}

function skipName(text, start, problem) {
  const position = skipWhitespace(text, start);
  if (text[position] !== '"') throw new Mismatch(position, problem);
  const end = skipWhitespace(text, skipString(text, position));
  if (text[end] !== ":") throw new Mismatch(end, "Expected ':' after property name");
  return end + 1;
}

// Throws at the first character that does not belong to a JSON text.
function scan(text) {
  const open = [];
  let position = 0;
  value: for (;;) {
    position = skipWhitespace(text, position);
    const character = text[position];
    if (character === "{" || character === "[") {
      const close = character === "{" ? "}" : "]";
      const inside = skipWhitespace(text, position + 1);
      if (text[inside] === close) {
        position = inside + 1;
      } else {
        open.push(close);
        position = close === "}" ? skipName(text, inside, "Expected property name or '}'") : inside;
        continue;
      }
    } else {
      position = skipScalar(text, position);
    }
    for (;;) {
      position = skipWhitespace(text, position);
      const close = open.at(-1);
      if (close === undefined) {
        if (position < text.length) throw new Mismatch(position, "Unexpected non-whitespace character after JSON");
        return;
      }
      if (text[position] === ",") {
        position = close === "}" ? skipName(text, position + 1, "Expected double-quoted property name") : position + 1;
        continue value;
      }
      if (text[position] !== close) {
        const before = close === "}" ? "property value" : "array element";
        throw new Mismatch(position, `Expected ',' or '${close}' after ${before}`);
      }
      open.pop();
      position += 1;
    }
  }
}

function excerpt(text, position) {
  if (text.length <= SHORT) return `"${text}"`;
  const shown = `"${text.slice(Math.max(0, position - CONTEXT), position + CONTEXT)}"`;
  if (position < CONTEXT) return `${shown}...`;
  return position < text.length - CONTEXT ? `...${shown}...` : `...${shown}`;
}

function unexpected(text, position) {
  const character = text[position];
  if (character === '"') return "Unexpected string";
  return character === "-" || isDigit(character) ? "Unexpected number" : undefined;
}

/** Returns why a text is not JSON; `undefined` if it is. */
export function describeJsonError(text) {
  try {
    scan(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    const { position } = error;
    const message = error.message ?? unexpected(text, position);
    if (message === undefined && position >= text.length) return "Unexpected end of JSON input";
    if (SPECIAL.has(text)) return `"${text}" is not valid JSON`;
    if (message === undefined) return `Unexpected token '${text[position]}', ${excerpt(text, position)} is not valid JSON`;
    const lines = text.slice(0, position).split(/\r\n|\n|\r/);
    const place = message.endsWith("JSON") ? message : `${message} in JSON`;
    return `${place} at position ${position} (line ${lines.length} column ${lines.at(-1).length + 1})`;
  }
}
