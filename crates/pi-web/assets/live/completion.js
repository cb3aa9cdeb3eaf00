// Completion in the composer: commands after `/`, files after `@`.

import { asText, element } from "../shared/element.js";

/**
 * @typedef {object} Suggestion
 * @property {string} text what is inserted
 * @property {string} title
 * @property {string} [detail]
 */

/** Maximum number of suggestions. */
const MAX_SUGGESTIONS = 40;

/** Time without a key before files are requested, in milliseconds. */
const FILE_DELAY = 120;

export class Completion {
  /**
   * @param {HTMLTextAreaElement} field
   * @param {HTMLElement} list
   * @param {{ commands: () => Promise<Suggestion[]>, files: (query: string) => Promise<Suggestion[]> }} sources
   */
  constructor(field, list, sources) {
    this.field = field;
    this.list = list;
    this.sources = sources;
    /** @type {Suggestion[]} */
    this.shown = [];
    this.marked = 0;
    field.setAttribute("role", "combobox");
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", list.id);
    field.setAttribute("aria-expanded", "false");
    field.addEventListener("blur", () => setTimeout(() => this.hide(), 150));
  }

  get isOpen() {
    return !this.list.hidden;
  }

  /** Returns the word at the caret that can be completed. */
  word() {
    const before = this.field.value.slice(0, this.field.selectionStart);
    const command = /^\/(\S*)$/.exec(before);
    if (command) return { kind: "command", query: command[1], start: 0 };
    const file = /(?:^|\s)@("[^"]*|\S*)$/.exec(before);
    if (file) return { kind: "file", query: file[1].replace(/^"/, ""), start: before.length - file[1].length - 1 };
    return undefined;
  }

  /** Updates the suggestions after a change of the text. */
  async update() {
    const word = this.word();
    const request = Symbol("completion");
    this.request = request;
    if (word === undefined) return this.hide();
    if (word.kind === "file") await new Promise((resolve) => setTimeout(resolve, FILE_DELAY));
    if (this.request !== request) return undefined;
    let found;
    try {
      found = word.kind === "command" ? ranked(await this.sources.commands(), word.query) : await this.sources.files(word.query);
    } catch {
      found = [];
    }
    if (this.request !== request) return undefined;
    this.shown = found.slice(0, MAX_SUGGESTIONS);
    this.marked = 0;
    return this.render();
  }

  render() {
    this.list.hidden = this.shown.length === 0;
    this.field.setAttribute("aria-expanded", String(this.isOpen));
    this.list.replaceChildren(...this.shown.map((suggestion, at) => element("div", {
      class: `suggestion${at === this.marked ? " marked-choice" : ""}`, role: "option", id: `suggestion-${at}`, "aria-selected": String(at === this.marked),
      mousedown: (event) => { event.preventDefault(); this.accept(at); },
    }, element("span", { class: "suggestion-title" }, suggestion.title), suggestion.detail && element("span", { class: "suggestion-detail" }, suggestion.detail))));
    this.list.children[this.marked]?.scrollIntoView({ block: "nearest" });
    if (this.isOpen) this.field.setAttribute("aria-activedescendant", `suggestion-${this.marked}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  hide() {
    this.shown = [];
    this.render();
  }

  /** Handles a key while suggestions are shown. Returns whether it was used. */
  key(event) {
    if (!this.isOpen) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      this.marked = (this.marked + step + this.shown.length) % this.shown.length;
      this.render();
    } else if (event.key === "Tab" || event.key === "Enter") this.accept(this.marked);
    else if (event.key === "Escape") this.hide();
    else return false;
    return true;
  }

  accept(at) {
    const word = this.word();
    const suggestion = this.shown[at];
    if (word === undefined || suggestion === undefined) return this.hide();
    const end = this.field.selectionStart;
    this.field.setRangeText(`${suggestion.text} `, word.start, end, "end");
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
    return this.hide();
  }
}

/** Orders commands by how well they match: prefix first, then anywhere in the name. */
function ranked(commands, query) {
  const wanted = query.toLowerCase();
  const rank = ({ title }) => {
    const at = asText(title).toLowerCase().indexOf(wanted);
    return at < 0 ? undefined : at <= 1 ? 0 : 1;
  };
  const matching = commands.map((command) => ({ command, rank: rank(command) })).filter((found) => found.rank !== undefined);
  return matching.sort((left, right) => left.rank - right.rank).map((found) => found.command);
}
