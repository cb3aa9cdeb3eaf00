// `@earendil-works/pi-tui`: components and text for the terminal.
export const CURSOR_MARKER = "\u001b_pi:c\u0007";
