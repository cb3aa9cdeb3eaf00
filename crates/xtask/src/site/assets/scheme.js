// Applies the chosen color scheme before the page is drawn; without a choice the scheme of the system applies.

try {
  const scheme = localStorage.getItem("pi-docs-scheme");
  if (scheme === "light" || scheme === "dark") document.documentElement.dataset.scheme = scheme;
} catch {
  // Storage may be disabled.
}
