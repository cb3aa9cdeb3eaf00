// Something that turns while work is under way.
import { Text } from "pi:tui/text";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const PACE = 80;

export class Loader extends Text {
  #ui;
  #spinnerColor;
  #messageColor;
  #message;
  #frames = FRAMES;
  #pace = PACE;
  #isOwn = false;
  #place = 0;
  #timer;

  constructor(ui, spinnerColor, messageColor, message = "Loading...", indicator = undefined) {
    super("", 1, 0);
    this.#ui = ui;
    this.#spinnerColor = spinnerColor;
    this.#messageColor = messageColor;
    this.#message = message;
    this.setIndicator(indicator);
  }
  render(width) {
    return ["", ...super.render(width)];
  }
  start() {
    this.#show();
    this.stop();
    if (this.#frames.length < 2) return;
    this.#timer = setInterval(() => {
      this.#place = (this.#place + 1) % this.#frames.length;
      this.#show();
    }, this.#pace);
  }
  stop() {
    if (this.#timer !== undefined) clearInterval(this.#timer);
    this.#timer = undefined;
  }
  setMessage(message) {
    this.#message = message;
    this.#show();
  }
  invalidate() {
    super.invalidate();
    this.#show();
  }
  // Frames of one's own come with their colors.
  setIndicator(indicator) {
    this.#isOwn = indicator !== undefined;
    this.#frames = [...(indicator?.frames ?? FRAMES)];
    this.#pace = indicator?.intervalMs > 0 ? indicator.intervalMs : PACE;
    this.#place = 0;
    this.start();
  }
  getRenderedIndicator() {
    const frame = this.#frames[this.#place] ?? "";
    return this.#isOwn ? frame : this.#spinnerColor(frame);
  }
  #show() {
    const indicator = this.getRenderedIndicator();
    this.setText(`${indicator === "" ? "" : `${indicator} `}${this.#messageColor(this.#message)}`);
    this.#ui?.requestRender();
  }
}
