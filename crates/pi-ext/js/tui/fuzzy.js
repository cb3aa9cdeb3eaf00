// Fuzzy matching.
import { query } from "pi:terminal";

export function fuzzyMatch(pattern, text) {
  const score = query("text.score", { query: pattern, text });
  return { matches: score !== null, score: score ?? 0 };
}

// Returns the matching items, best first.
export function fuzzyFilter(items, pattern, getText) {
  if (!pattern.trim()) return items;
  return query("text.rank", { query: pattern, texts: items.map((item) => String(getText(item))) }).map((index) => items[index]);
}
