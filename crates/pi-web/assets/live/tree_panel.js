// The panel with all branches: find an entry, look at it, continue from it, or fork it into a new session.

import { asText, element } from "../shared/element.js";
import { FILTERS, Tree } from "../shared/tree.js";
import { sendCommand } from "./api.js";
import { icon } from "./icons.js";
import { failure, notice } from "./notify.js";
import { ask } from "./pickers.js";

/** Height of a row on phones, in pixels. */
const PHONE_ROW_HEIGHT = 44;

const narrow = matchMedia("(max-width: 720px)");

const rowHeight = () => (narrow.matches ? PHONE_ROW_HEIGHT : undefined);

export class TreePanel {
  /**
   * @param {HTMLElement} root
   * @param {{ jump: (index: number) => boolean, forked: (text: string, from: string) => void, moved: (text?: string) => void, closed: () => void }} page
   */
  constructor(root, page) {
    this.root = root;
    this.page = page;
    this.list = element("div", { class: "tree-rows", role: "tree", tabindex: "0", "aria-label": "Entries of all branches" });
    this.status = element("p", { class: "tree-status", role: "status" });
    this.actions = element("div", { class: "tree-actions", hidden: true });
    this.search = element("input", { type: "search", placeholder: "Search all branches", "aria-label": "Search all branches", autocomplete: "off", spellcheck: "false", input: () => this.tree?.search(this.search.value) });
    this.filter = element("select", { "aria-label": "Filter entries", change: () => this.tree?.setFilter(this.filter.value) }, Object.entries(FILTERS).map(([name, { title }]) => element("option", { value: name }, title)));
    root.replaceChildren(
      element("header", { class: "panel-head" }, element("h2", null, "Branches"), this.filter, element("button", { type: "button", class: "icon-button", "aria-label": "Close", click: () => this.close() }, icon("close"))),
      this.search, this.list, this.actions, this.status);
    narrow.addEventListener("change", () => this.tree?.setRowHeight(rowHeight()));
    this.list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const next = this.tree?.neighbor(step);
      if (next !== undefined) this.pick(next);
    });
  }

  get isOpen() {
    return !this.root.hidden;
  }

  open(session) {
    this.root.hidden = false;
    this.show(session);
    this.list.focus();
  }

  close() {
    this.root.hidden = true;
    this.page.closed();
  }

  /** Shows the entries of a session, if the panel is open. */
  show(session) {
    if (!this.isOpen || session === undefined) return;
    if (this.session !== session || this.tree === undefined) {
      this.session = session;
      this.list.replaceChildren();
      this.tree = new Tree(session, this.list, this.status, (index) => this.pick(index), rowHeight());
      this.tree.filter = this.filter.value;
      this.actions.hidden = true;
    }
    this.tree.setPath(new Set(session.leaf === undefined ? [] : session.path(session.leaf)), session.leaf);
    if (this.tree.marked === undefined && session.leaf !== undefined) this.tree.mark(session.leaf);
  }

  pick(index) {
    const { session } = this;
    const node = session?.nodes[index];
    if (session === undefined || node === undefined) return;
    this.tree?.mark(index);
    const isOnPath = this.page.jump(index);
    this.actions.hidden = false;
    this.actions.replaceChildren(
      element("p", { class: "note" }, node.text || node.kind),
      element("div", { class: "buttons" },
        index !== session.leaf && element("button", { type: "button", click: () => this.navigate(node.id) }, node.kind === "user" ? "Edit and resend" : isOnPath ? "Continue from here" : "Switch to this branch"),
        node.kind === "user" && element("button", { type: "button", click: () => this.fork(node.id) }, icon("fork"), "Fork to new session"),
        element("button", { type: "button", click: () => this.label(node) }, "Label")));
  }

  async label(node) {
    const { session } = this;
    const label = await ask("Label of this entry", { value: asText(node.label), action: "Save" });
    if (session === undefined || label === undefined) return;
    try {
      await sendCommand(session.id, { type: "set_label", entryId: node.id, label: label || undefined });
      session.applyLabel({ targetId: node.id, label });
      this.show(session);
    } catch (error) {
      failure(error);
    }
  }

  async navigate(id) {
    const { session } = this;
    if (session === undefined) return;
    try {
      const data = await sendCommand(session.id, { type: "navigate_tree", entryId: id });
      if (data?.cancelled) return;
      this.page.moved(asText(data?.text) || undefined);
      notice("Moved to the chosen entry");
    } catch (error) {
      failure(error);
    }
  }

  async fork(id) {
    const { session } = this;
    if (session === undefined) return;
    try {
      const data = await sendCommand(session.id, { type: "fork", entryId: id });
      if (data?.cancelled) return;
      this.page.forked(asText(data?.text), session.id);
    } catch (error) {
      failure(error);
    }
  }
}
