// Fuzzy matching, as the pickers do it.
import { answer } from "pi:terminal";

export function fuzzyMatch(query, text) {
  const score = answer("text.score", { query, text });
  return { matches: score !== null, score: score ?? 0 };
}

// Returns the items that fit, best first.
export function fuzzyFilter(items, query, getText) {
  if (!query.trim()) return items;
  return answer("text.rank", { query, texts: items.map((item) => String(getText(item))) }).map((place) => items[place]);
}
