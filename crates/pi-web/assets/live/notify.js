// Messages to the user: short notices on the page, the badge of the title, and notifications of the browser while
// the page is hidden.

import { asText, element } from "../shared/element.js";
import { plainText } from "../shared/terminal_text.js";

/** Time a notice stays, in milliseconds. */
const NOTICE_TIME = 7_000;

const KINDS = new Set(["info", "warning", "error"]);

/** Shows a notice for a few seconds. */
export function notice(text, kind = "info") {
  const list = /** @type {HTMLElement} */ (document.getElementById("notices"));
  const item = element("div", { class: `notice ${KINDS.has(kind) ? kind : "info"}`, role: kind === "error" ? "alert" : undefined }, plainText(asText(text)));
  const close = () => item.remove();
  item.addEventListener("click", close);
  list.append(item);
  while (list.children.length > 4) list.firstElementChild?.remove();
  setTimeout(close, kind === "error" ? NOTICE_TIME * 2 : NOTICE_TIME);
}

/** Shows an error of a request. */
export function failure(error) {
  notice(error?.message ?? String(error), "error");
}

let badge = "";
let title = "pi";

/** Sets the title of the page. */
export function setTitle(text) {
  title = text;
  document.title = `${badge}${title}`;
}

function setBadge(mark) {
  badge = mark;
  document.title = `${badge}${title}`;
}

/** Notifies about a session if the page is hidden. */
export function alertHidden(text, detail, mark) {
  if (document.visibilityState === "visible" && document.hasFocus()) return;
  setBadge(`${mark} `);
  if (typeof Notification === "undefined" || Notification.permission !== "granted" || localStorage.getItem("pi-notify") !== "on") return;
  const note = new Notification(text, { body: detail, tag: "pi", icon: "/icon.png" });
  note.addEventListener("click", () => {
    window.focus();
    note.close();
  });
}

/** Turns notifications of the browser on or off. Returns whether they are on. */
export async function toggleNotifications() {
  if (typeof Notification === "undefined") {
    notice("This browser has no notifications.", "warning");
    return false;
  }
  const isOn = localStorage.getItem("pi-notify") === "on" && Notification.permission === "granted";
  if (!isOn && (await Notification.requestPermission()) !== "granted") {
    notice("Allow notifications for this page in the settings of the browser.", "warning");
    return false;
  }
  localStorage.setItem("pi-notify", isOn ? "off" : "on");
  notice(isOn ? "Notifications are off" : "You are notified when a session settles or asks");
  return !isOn;
}

/** Whether notifications are on. */
export function hasNotifications() {
  return typeof Notification !== "undefined" && Notification.permission === "granted" && localStorage.getItem("pi-notify") === "on";
}

document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") setBadge(""); });
window.addEventListener("focus", () => setBadge(""));
