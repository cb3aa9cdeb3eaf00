// Spinner with a message.
import { Text } from "pi:tui/text";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const DEFAULT_INTERVAL = 80;

export class Loader extends Text {
  #ui;
  #spinnerColor;
  #messageColor;
  #message;
  #frames = FRAMES;
  #interval = DEFAULT_INTERVAL;
  #isCustom = false;
  #frame = 0;
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
      this.#frame = (this.#frame + 1) % this.#frames.length;
      this.#show();
    }, this.#interval);
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
  // Custom frames include their own colors.
  setIndicator(indicator) {
    this.#isCustom = indicator !== undefined;
    this.#frames = [...(indicator?.frames ?? FRAMES)];
    this.#interval = indicator?.intervalMs > 0 ? indicator.intervalMs : DEFAULT_INTERVAL;
    this.#frame = 0;
    this.start();
  }
  getRenderedIndicator() {
    const current = this.#frames[this.#frame] ?? "";
    return this.#isCustom ? current : this.#spinnerColor(current);
  }
  #show() {
    const indicator = this.getRenderedIndicator();
    this.setText(`${indicator === "" ? "" : `${indicator} `}${this.#messageColor(this.#message)}`);
    this.#ui?.requestRender();
  }
}
