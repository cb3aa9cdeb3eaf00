// Exercises the components and text functions of the terminal library. As an extension, writes the results to the
// working directory; `expected.json` contains the results of the same file with the library of the TypeScript pi.
import { writeFileSync } from "node:fs";
import * as tui from "@earendil-works/pi-tui";
// Removed in 1.5.0; extensions for earlier versions import it by name, from either scope.
import { parseOsc11BackgroundColor } from "@mariozechner/pi-tui";

const red = (text) => `\u001b[31m${text}\u001b[39m`;
const dim = (text) => `\u001b[2m${text}\u001b[22m`;
const inverse = (text) => `\u001b[7m${text}\u001b[27m`;
const listTheme = { selectedPrefix: red, selectedText: inverse, description: dim, scrollInfo: dim, noMatch: red };
const settingsTheme = {
  label: (text, selected) => (selected ? red(text) : text),
  value: (text, selected) => (selected ? inverse(text) : text),
  description: dim,
  hint: dim,
  cursor: "> ",
};
const fakeTui = { requestRender() {}, terminal: { rows: 24, columns: 80 } };
const KEYS = {
  up: "\u001b[A", down: "\u001b[B", right: "\u001b[C", left: "\u001b[D", enter: "\r", escape: "\u001b", tab: "\t", backspace: "\u007f",
  home: "\u001b[H", end: "\u001b[F", pageUp: "\u001b[5~",
};
const visible = (lines) => lines.map((line) => tui.stripTerminalSequences(line).trimEnd());

// Components without input.
function renderingCases() {
  const { Box, Container, HStack, Image, Loader, Spacer, Text, TruncatedText, VStack } = tui;
  const container = new Container();
  const first = new Text("first", 0, 0);
  container.addChild(first);
  container.addChild(new Spacer(2));
  container.addChild(new TruncatedText("second line that is long\nthird", 1, 1));
  const box = new Box(2, 1, red);
  box.addChild(new Text(`one ${red("two three")} four`, 1, 0));
  const changed = new Text("a", 0, 0);
  const before = changed.render(5);
  changed.setText("b\tc");
  const loader = new Loader(fakeTui, red, dim, "Working", { frames: ["*"] });
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAADklEQVR42mNk+M9QDwAEQgGAEbrqfQAAAABJRU5ErkJggg==";
  tui.setCapabilities({ images: null, trueColor: true, hyperlinks: false });
  const results = {
    text: new Text("The quick brown fox jumps over the lazy dog", 1, 1).render(20),
    "wide characters": new Text("漢字漢字漢字 and 👍🏽", 0, 0).render(9),
    "colored text": new Text(`${red("red text that wraps")} plain`, 1, 0, inverse).render(14),
    "empty text": [new Text("", 1, 1).render(9), new Text("  \n ", 1, 1).render(9)],
    "narrow text": [new Text("abc", 2, 0).render(1), new Text("abc", 2, 0).render(4)],
    "changed text": [before, changed.render(5)],
    container: container.render(16),
    "container without its first child": (container.removeChild(first), container.render(16)),
    box: box.render(16),
    "empty box": [new Box().render(9), new Container().render(9)],
    truncated: [new TruncatedText("short").render(8), new TruncatedText(red("much too long"), 1, 0).render(8)],
    spacer: [new Spacer().render(3), new Spacer(3).render(3)],
    loader: loader.render(20),
    image: new Image(png, "image/png", { fallbackColor: dim }, { filename: "a.png" }).render(40),
    vstack: new VStack([new Text("a", 0, 0), { component: new Text("b\nc\nd", 0, 0), maxSize: 2 }], { gap: 1 }).render(4),
    "hstack without styles": visible(new HStack([new Text("left", 0, 0), { component: new Text("right side", 0, 0), grow: 1 }], { gap: 2 }).render(24)),
  };
  loader.stop();
  return results;
}

function selectListCases() {
  const items = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"].map((value, index) => ({
    value,
    label: index % 2 ? value.toUpperCase() : "",
    description: index % 3 ? `the ${value}\none` : undefined,
  }));
  const list = new tui.SelectList(items, 4, listTheme);
  const events = [];
  list.onSelect = (item) => events.push(["select", item.value]);
  list.onCancel = () => events.push(["cancel"]);
  list.onSelectionChange = (item) => events.push(["change", item.value]);
  const frames = [list.render(60), list.render(30)];
  for (const key of ["up", "up", "down", "down", "down", "enter", "escape"]) list.handleInput(KEYS[key]);
  frames.push(list.render(60));
  list.setFilter("be");
  frames.push(list.render(60));
  list.setFilter("nothing");
  frames.push(list.render(60));
  list.setFilter("");
  list.setSelectedIndex(99);
  return { frames, events, last: list.getSelectedItem().value };
}

function settingsListCases() {
  const events = [];
  const items = [
    { id: "one", label: "One", currentValue: "a", values: ["a", "b", "c"], description: "A longer description of the setting" },
    { id: "two", label: "The second", currentValue: "x" },
    {
      id: "three",
      label: "Third",
      currentValue: "deep",
      submenu: (value, done) => ({ render: () => [`inside ${value}`], invalidate() {}, handleInput: (data) => done(data === "y" ? "yes" : undefined) }),
    },
  ];
  const list = new tui.SettingsList(items, 2, settingsTheme, (id, value) => events.push([id, value]), () => events.push(["cancel"]), { enableSearch: true });
  const frames = [list.render(40)];
  list.handleInput(KEYS.enter);
  list.handleInput(" ");
  list.handleInput(KEYS.up);
  frames.push(list.render(40));
  list.handleInput(KEYS.enter);
  frames.push(list.render(40));
  list.handleInput("y");
  frames.push(list.render(40));
  for (const key of "sec") list.handleInput(key);
  frames.push(list.render(40));
  list.handleInput("q");
  frames.push(list.render(40));
  list.handleInput(KEYS.escape);
  list.updateValue("two", "z");
  return { frames, events, value: items[1].currentValue };
}

function inputCases() {
  const results = {};
  const inputs = {
    letters: ["h", "é", "漢", "👍"],
    moving: [..."hello world", KEYS.left, KEYS.left, "X", KEYS.home, "Y", KEYS.end, "Z", "\u001bb", "W"],
    deleting: [..."one two three", "\u0017", KEYS.backspace, "\u0001", "\u0004", "\u000b", "\u0019"],
    undoing: [..."abc", " ", ..."def", "\u001b[45;5u"],
    pasting: ["\u001b[200~a\nb\tc\u001b[201~"],
    sending: [..."ok", KEYS.enter, KEYS.escape],
  };
  for (const [name, keys] of Object.entries(inputs)) {
    const input = new tui.Input();
    const events = [];
    input.focused = true;
    input.onSubmit = (value) => events.push(["submit", value]);
    input.onEscape = () => events.push(["escape"]);
    for (const key of keys) input.handleInput(key);
    results[name] = { value: input.getValue(), events, line: input.render(12) };
  }
  const prompted = new tui.Input({ prompt: "? ", placeholder: "name", placeholderStyle: dim });
  results.placeholder = visible(prompted.render(12));
  prompted.setValue("set");
  results.set = prompted.getValue();
  return results;
}

function editorCases() {
  const results = {};
  const long = Array.from({ length: 12 }, (_, index) => `pasted ${index}`).join("\n");
  const inputs = {
    letters: [..."hello"],
    lines: [..."one", "\n", ..."two", KEYS.up, "X"],
    backslash: [..."a\\", KEYS.enter, "b"],
    wrapping: [..."the quick brown fox jumps over"],
    deleting: [..."one two", "\u0017", "\u0015", "\u0019", "\u0019"],
    pasting: ["x", `\u001b[200~${long}\u001b[201~`, "y"],
    "short paste": ["\u001b[200~a\tb\r\nc\u001b[201~"],
    sending: [..." ok ", KEYS.enter],
    undoing: [..."abc def", "\u001b[45;5u"],
  };
  for (const [name, keys] of Object.entries(inputs)) {
    const editor = new tui.Editor(fakeTui, { borderColor: red, selectList: listTheme }, { paddingX: 1 });
    const events = [];
    editor.focused = true;
    editor.onSubmit = (text) => events.push(["submit", text]);
    for (const key of keys) editor.handleInput(key);
    results[name] = {
      text: editor.getText(),
      expanded: editor.getExpandedText(),
      lines: editor.getLines(),
      cursor: editor.getCursor(),
      frame: visible(editor.render(20)),
      events,
    };
  }
  const editor = new tui.Editor(fakeTui, { borderColor: red, selectList: listTheme });
  const changes = [];
  editor.onChange = (text) => changes.push(text);
  editor.addToHistory("earlier");
  editor.addToHistory("later");
  editor.handleInput(KEYS.up);
  editor.handleInput(KEYS.up);
  results.history = editor.getText();
  editor.setText("set\ntext");
  editor.insertTextAtCursor("!");
  results.set = [editor.getText(), editor.getCursor(), editor.isShowingAutocomplete(), editor.getPaddingX()];
  editor.setText(Array.from({ length: 30 }, (_, index) => `line ${index}`).join("\n"));
  results.long = visible(editor.render(30));
  results.changes = changes.length > 0;
  return results;
}

function textCases() {
  const { truncateToWidth, visibleWidth, wrapTextWithAnsi, sliceByColumn, stripTerminalSequences } = tui;
  const samples = ["", "plain", "漢字", "e\u0301", "👨‍👩‍👧", "a\tb", red("red"), "\u001b]8;;http://x\u0007link\u001b]8;;\u0007", "🇩🇪!"];
  return {
    width: samples.map(visibleWidth),
    truncated: samples.map((sample) => stripTerminalSequences(truncateToWidth(sample, 3))),
    "truncated with options": [truncateToWidth("longer text", 6, "…"), truncateToWidth("ab", 5, "", true), truncateToWidth("longer", 3, ""), truncateToWidth("x", 0)],
    wrapped: wrapTextWithAnsi(`${red("one two three")}\n\nfour   five`, 8),
    "wrapped long word": wrapTextWithAnsi("averyveryverylongword and more", 10),
    sliced: [sliceByColumn("hello world", 3, 5), sliceByColumn("漢字漢字", 1, 4), sliceByColumn("abc", 5, 2), stripTerminalSequences(sliceByColumn(red("hello"), 1, 3))],
    stripped: samples.map(stripTerminalSequences),
    link: tui.getOsc8LinkAtColumn(samples[7], 2),
    fuzzy: [tui.fuzzyMatch("abc", "a-b-c"), tui.fuzzyMatch("abc", "xyz"), tui.fuzzyMatch("gpt5", "5gpt")],
    filtered: tui.fuzzyFilter(["apple pie", "banana", "pineapple", "apply"], "app", (one) => one),
    "filtered by two words": tui.fuzzyFilter(["src/main.rs", "main/src.rs", "lib.rs"], "src main", (one) => one),
    scheme: [tui.parseTerminalColorSchemeReport("\u001b[?997;2n"), tui.parseTerminalColorSchemeReport("x")],
    background: [parseOsc11BackgroundColor("\u001b]11;rgb:ffff/8080/0000\u0007"), parseOsc11BackgroundColor("x") ?? null],
  };
}

function keyCases() {
  const { Key, matchesKey, parseKey } = tui;
  const sequences = [
    "a", "A", " ", "\r", "\n", "\t", "\u001b", "\u007f", "\u0003", "\u001b[A", "\u001bOA", "\u001b[1;5C", "\u001b[3~", "\u001b[5~", "\u001b[6~",
    "\u001b[Z", "\u001b[97;5u", "\u001b[97;5:3u", "\u001b[13;2u", "\u001bb", "\u001bOP", "\u001b[24~", "\u001b[27;5;13~", "é", "+",
    "\u001b[127;3u", "\u001d", "\u001f", "\u0000", "\u001b[200~", "",
  ];
  return {
    parsed: sequences.map((sequence) => parseKey(sequence) ?? null),
    released: sequences.map(tui.isKeyRelease),
    repeated: tui.isKeyRepeat("\u001b[97;5:2u"),
    printable: ["\u001b[97u", "\u001b[97:65;2u", "\u001b[97;5u", "\u001b[228u", "a"].map((sequence) => tui.decodeKittyPrintable(sequence) ?? null),
    matched: [
      matchesKey("\u0003", Key.ctrl("c")), matchesKey("\u0003", "ctrl+c"), matchesKey("\t", "ctrl+i"), matchesKey("\r", Key.return),
      matchesKey("\u001b", Key.esc), matchesKey("a", "b"), matchesKey("A", Key.shift("a")), matchesKey("\u001b[1;6A", Key.ctrlShift("up")),
      matchesKey("\u001b[5~", Key.pageUp), matchesKey(" ", Key.space), matchesKey("/", Key.slash), matchesKey("\u001b[97;5:3u", "ctrl+a"),
    ],
    names: [Key.ctrlShiftAlt("x"), Key.question, Key.f12, Key.superCtrl("y")],
  };
}

function keybindingCases() {
  const manager = new tui.KeybindingsManager(
    { one: { defaultKeys: "a", description: "x" }, two: { defaultKeys: ["b", "ctrl+b"] }, three: { defaultKeys: [] } },
    { two: ["c", "c"], three: "c" },
  );
  const current = tui.getKeybindings();
  return {
    keys: ["one", "two", "three", "four"].map((id) => manager.getKeys(id)),
    matches: [manager.matches("a", "one"), manager.matches("b", "two"), manager.matches("c", "two")],
    conflicts: manager.getConflicts(),
    resolved: manager.getResolvedBindings(),
    user: manager.getUserBindings(),
    definition: manager.getDefinition("one"),
    current: ["tui.select.up", "tui.select.cancel", "tui.input.newLine", "tui.editor.pageUp"].map((id) => current.getKeys(id)),
    known: tui.TUI_KEYBINDINGS["tui.select.confirm"].defaultKeys,
  };
}

function markdownCases() {
  const plain = (text) => text;
  const theme = Object.fromEntries(
    ["heading", "link", "linkUrl", "code", "codeBlock", "codeBlockBorder", "quote", "quoteBorder", "hr", "listBullet", "bold", "italic", "strikethrough", "underline"].map((name) => [name, plain]),
  );
  const source = "# Title\n\nSome *text* with `code` and a [link](http://x.y).\n\n- one\n- two\n  - deep\n\n1. first\n2. second\n\n> quoted\n\n```js\nlet a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
  const document = new tui.Markdown(source, 1, 1, theme);
  const results = { page: visible(document.render(40)) };
  document.setText("short **bold**");
  results.changed = visible(document.render(40));
  results.empty = new tui.Markdown("  ", 1, 1, theme).render(40);
  results.transformed = visible(new tui.Markdown("abc", 0, 0, theme, undefined, { transform: (it, width) => `${it} ${width}` }).render(20));
  return results;
}

// Suggestions arrive after several turns of the event loop.
const waitForSuggestions = async () => {
  for (let round = 0; round < 5; round++) await new Promise((resolve) => setImmediate(resolve));
};

async function autocompleteCases() {
  const editor = new tui.Editor(fakeTui, { borderColor: red, selectList: listTheme });
  const quit = { name: "quit", getArgumentCompletions: () => [{ value: "now", label: "now" }] };
  editor.setAutocompleteProvider(new tui.CombinedAutocompleteProvider([{ name: "hello", description: "Says hello" }, { name: "help" }, quit], "/"));
  const type = async (keys) => {
    for (const key of keys) {
      editor.handleInput(key);
      await waitForSuggestions();
    }
  };
  await type("/he");
  const results = { shown: editor.isShowingAutocomplete(), list: visible(editor.render(50)) };
  await type([KEYS.down, KEYS.tab]);
  results.accepted = [editor.getText(), editor.isShowingAutocomplete()];
  editor.setText("");
  await type("/quit ");
  results.arguments = visible(editor.render(50));
  await type([KEYS.escape]);
  results.dismissed = [editor.getText(), editor.isShowingAutocomplete()];
  return results;
}

export async function results() {
  return {
    autocomplete: await autocompleteCases(),
    rendering: renderingCases(),
    selectList: selectListCases(),
    settingsList: settingsListCases(),
    input: inputCases(),
    editor: editorCases(),
    text: textCases(),
    keys: keyCases(),
    keybindings: keybindingCases(),
    markdown: markdownCases(),
  };
}

export default async function () {
  writeFileSync("results.json", JSON.stringify(await results(), null, 1));
}
