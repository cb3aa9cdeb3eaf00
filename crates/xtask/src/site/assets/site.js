// The documentation site: color scheme, page menu, copy buttons, outline and search. Pages work without it.

const root = document.documentElement;
const base = root.dataset.root;

function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

// Color scheme

const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const schemeButton = document.querySelector("button.scheme");

function isDark() {
  return root.dataset.scheme ? root.dataset.scheme === "dark" : systemIsDark.matches;
}

schemeButton.hidden = false;
schemeButton.addEventListener("click", () => {
  const scheme = isDark() ? "light" : "dark";
  // A choice equal to the system's follows it again.
  const followsSystem = (scheme === "dark") === systemIsDark.matches;
  if (followsSystem) delete root.dataset.scheme;
  else root.dataset.scheme = scheme;
  try {
    if (followsSystem) localStorage.removeItem("pi-docs-scheme");
    else localStorage.setItem("pi-docs-scheme", scheme);
  } catch {
    // The choice then lasts until the next page.
  }
});

// Page menu of narrow windows

const menuButton = document.querySelector("button.menu");
const pages = document.getElementById("pages");

function showMenu(isOpen) {
  document.body.classList.toggle("menu-open", isOpen);
  menuButton.setAttribute("aria-expanded", String(isOpen));
}

if (menuButton) {
  menuButton.addEventListener("click", () => showMenu(!document.body.classList.contains("menu-open")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") showMenu(false);
  });
  document.getElementById("content").addEventListener("click", () => showMenu(false));
  const current = pages.querySelector("[aria-current]");
  if (current) pages.scrollTop = current.offsetTop - pages.clientHeight / 2;
}

// Copy buttons

for (const block of document.querySelectorAll(".code")) {
  const button = element("button", { type: "button", class: "copy", "aria-label": "Copy" });
  button.addEventListener("click", async () => {
    let isCopied = true;
    try {
      await navigator.clipboard.writeText(block.querySelector("code").textContent.trimEnd());
    } catch {
      isCopied = false;
    }
    button.classList.add(isCopied ? "done" : "failed");
    button.setAttribute("aria-label", isCopied ? "Copied" : "Cannot copy");
    setTimeout(() => {
      button.classList.remove("done", "failed");
      button.setAttribute("aria-label", "Copy");
    }, 1500);
  });
  block.append(button);
}

// Outline: marks the section that is being read

const outlineLinks = new Map();
for (const link of document.querySelectorAll(".outline a")) {
  outlineLinks.set(decodeURIComponent(link.hash.slice(1)), link);
}

function markSection() {
  const headings = [...outlineLinks.keys()].map((id) => document.getElementById(id));
  const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 4;
  const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
  const current = atEnd && scrollY > 0 ? headings.at(-1) : (passed.at(-1) ?? headings[0]);
  for (const [id, link] of outlineLinks) link.classList.toggle("current", id === current.id);
}

if (outlineLinks.size > 0) {
  let isQueued = false;
  addEventListener(
    "scroll",
    () => {
      if (isQueued) return;
      isQueued = true;
      requestAnimationFrame(() => {
        isQueued = false;
        markSection();
      });
    },
    { passive: true },
  );
  markSection();
}

// Search

const MAX_RESULTS = 12;
const SNIPPET = 130;

const findButton = document.querySelector("button.find");
findButton.hidden = false;

let index;
let dialog;

async function loadIndex() {
  const { default: loaded } = await import("./search-index.js");
  index = loaded.sections.map(([page, anchor, heading, text]) => {
    const [address, title, section, keywords] = loaded.pages[page];
    return {
      address: `${base}${address}${anchor ? `#${anchor}` : ""}`,
      title,
      section,
      heading,
      text,
      isPage: anchor === "",
      lowerTitle: `${title} ${address.replace(/\.html$/, "")}`.toLowerCase(),
      lowerKeywords: keywords.toLowerCase(),
      lowerHeading: heading.toLowerCase(),
      lowerText: text.toLowerCase(),
    };
  });
}

function occurrences(text, word) {
  let count = 0;
  let bonus = 0;
  for (let at = text.indexOf(word); at >= 0 && count < 5; at = text.indexOf(word, at + word.length)) {
    count += 1;
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) bonus = 1;
  }
  return count + bonus;
}

// How well an entry matches, or 0. Every word must occur in it.
function score(entry, words) {
  let total = 0;
  for (const word of words) {
    const inTitle = occurrences(entry.lowerTitle, word);
    const inHeading = occurrences(entry.lowerHeading, word);
    const inKeywords = occurrences(entry.lowerKeywords, word);
    const inText = occurrences(entry.lowerText, word);
    if (inTitle + inHeading + inKeywords + inText === 0) return 0;
    // Sections below the first would repeat what is found by the name of their page.
    if (!entry.isPage && inHeading + inText === 0) return 0;
    total += inText + 12 * inHeading + (entry.isPage ? 20 * inTitle + 8 * inKeywords : inTitle);
  }
  const phrase = words.join(" ");
  if (words.length > 1 && entry.lowerText.includes(phrase)) total += 15;
  if (entry.lowerHeading === phrase) total += 40;
  return total;
}

function search(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const found = [];
  for (const entry of index) {
    const value = score(entry, words);
    if (value > 0) found.push({ entry, value });
  }
  found.sort((one, other) => other.value - one.value);
  return found.slice(0, MAX_RESULTS).map(({ entry }) => ({ entry, words }));
}

function marked(text, words) {
  const parts = [];
  const lower = text.toLowerCase();
  let at = 0;
  while (at < text.length) {
    let next = -1;
    let length = 0;
    for (const word of words) {
      const found = lower.indexOf(word, at);
      if (found >= 0 && (next < 0 || found < next)) [next, length] = [found, word.length];
    }
    if (next < 0) break;
    parts.push(text.slice(at, next), element("mark", {}, text.slice(next, next + length)));
    at = next + length;
  }
  parts.push(text.slice(at));
  return parts;
}

function snippet({ text, lowerText }, words) {
  const first = Math.min(...words.map((word) => lowerText.indexOf(word)).filter((at) => at >= 0));
  const start = Number.isFinite(first) ? Math.max(0, first - 40) : 0;
  const from = start === 0 ? 0 : text.indexOf(" ", start) + 1;
  const cut = text.slice(from, from + SNIPPET);
  return (from > 0 ? "… " : "") + cut + (from + SNIPPET < text.length ? " …" : "");
}

function openSearch() {
  dialog ??= createDialog();
  if (!dialog.shell.open) dialog.shell.showModal();
  dialog.input.select();
  if (!index) {
    loadIndex().then(
      () => dialog.update(),
      () => dialog.report("Cannot load the search index. Serve the site over HTTP to search it."),
    );
  }
}

function createDialog() {
  const input = element("input", {
    type: "search",
    placeholder: "Search the manual",
    "aria-label": "Search the manual",
    "aria-controls": "results",
    role: "combobox",
    "aria-expanded": "true",
    autocomplete: "off",
    spellcheck: "false",
  });
  const list = element("ul", { id: "results", role: "listbox", "aria-label": "Results" });
  const status = element("p", { class: "status", role: "status" });
  const close = element("button", { type: "button", class: "close" }, "Esc");
  const shell = element(
    "dialog",
    { class: "search", "aria-label": "Search" },
    element("div", { class: "query" }, input, close),
    list,
    status,
  );
  document.body.append(shell);
  let selected = 0;

  const report = (text) => {
    status.textContent = text;
    status.hidden = text === "";
  };
  const select = (next) => {
    const rows = [...list.children];
    if (rows.length === 0) return;
    selected = (next + rows.length) % rows.length;
    rows.forEach((row, at) => row.setAttribute("aria-selected", String(at === selected)));
    rows[selected].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", rows[selected].id);
  };
  const update = () => {
    if (!index) return;
    const results = search(input.value);
    list.replaceChildren(
      ...results.map(({ entry, words }, at) => {
        const where = entry.isPage ? entry.section : `${entry.section} › ${entry.title}`;
        const link = element(
          "a",
          { href: entry.address, tabindex: "-1" },
          element("small", {}, where),
          element("strong", {}, ...marked(entry.isPage ? entry.title : entry.heading, words)),
          element("span", {}, ...marked(snippet(entry, words), words)),
        );
        link.addEventListener("click", () => shell.close());
        return element("li", { id: `result-${at}`, role: "option" }, link);
      }),
    );
    input.removeAttribute("aria-activedescendant");
    report(results.length > 0 ? "" : input.value.trim() ? "No results" : "Type a word, a flag, a key or a setting");
    select(0);
  };

  input.addEventListener("input", update);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") select(selected + 1);
    else if (event.key === "ArrowUp") select(selected - 1);
    else if (event.key === "Enter") list.children[selected]?.querySelector("a").click();
    else return;
    event.preventDefault();
  });
  close.addEventListener("click", () => shell.close());
  shell.addEventListener("click", (event) => {
    if (event.target === shell) shell.close();
  });
  report("");
  return { shell, input, update, report };
}

findButton.addEventListener("click", openSearch);
addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, [contenteditable]");
  const isShortcut =
    (event.key === "/" && !isTyping) || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey));
  if (!isShortcut) return;
  event.preventDefault();
  openSearch();
});
