// Icons as SVG elements, drawn with the color of the text.

const SVG = "http://www.w3.org/2000/svg";

/** Paths on a 24 by 24 grid. */
const PATHS = {
  menu: ["M4 7h16", "M4 12h16", "M4 17h16"],
  tree: ["M6 4v11a3 3 0 0 0 3 3h5", "M6 9a3 3 0 0 0 3 3h5", "M17 12h1", "M17 18h1"],
  more: ["M5.5 12h1", "M11.5 12h1", "M17.5 12h1"],
  plus: ["M12 5v14", "M5 12h14"],
  send: ["M12 19V5", "M6 11l6-6 6 6"],
  stop: ["M8 8h8v8H8z"],
  close: ["M6 6l12 12", "M18 6L6 18"],
  down: ["M12 5v14", "M6 13l6 6 6-6"],
  image: ["M4 5h16v14H4z", "M4 16l5-5 4 4 3-3 4 4", "M15 9h.01"],
  search: ["M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14z", "M16 16l4 4"],
  text: ["M5 6h14", "M5 11h14", "M5 16h8"],
  check: ["M5 13l4 4L19 7"],
  bell: ["M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15z", "M10 20h4"],
  scheme: ["M12 4a8 8 0 1 0 0 16z", "M12 4a8 8 0 0 1 0 16"],
  queue: ["M5 7h14", "M5 12h9", "M5 17h6", "M17 14v6", "M14 17h6"],
  fork: ["M6 4v16", "M6 14a8 8 0 0 0 8-8", "M11 7l3-3 3 3"],
};

/**
 * Builds an icon.
 * @param {keyof typeof PATHS} name
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  for (const shape of PATHS[name]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", shape);
    svg.append(path);
  }
  return svg;
}

/** Fills the buttons of the page that name an icon. */
export function fillIcons(root) {
  for (const button of root.querySelectorAll("[data-icon]")) button.prepend(icon(button.dataset.icon));
}
