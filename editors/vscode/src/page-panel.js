"use strict";

// The panel with the page of pi.

const { randomBytes } = require("node:crypto");
const { PageProxy } = require("./page-proxy.js");

/** Returns the document of the webview: the page in a frame. */
function frameDocument(origin, session) {
  const nonce = randomBytes(16).toString("base64");
  const source = `${origin}/${session ? `#s=${encodeURIComponent(session)}` : ""}`;
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; frame-src ${origin}; style-src 'nonce-${nonce}'">
<style nonce="${nonce}">html, body, iframe { margin: 0; border: 0; width: 100%; height: 100vh; padding: 0; display: block; }</style>
</head>
<body><iframe src="${source}" title="pi" allow="clipboard-read; clipboard-write"></iframe></body>
</html>`;
}

class PagePanel {
  #vscode;
  #server;
  #proxy;
  #panel;

  constructor(vscode, server) {
    this.#vscode = vscode;
    this.#server = server;
    this.#proxy = new PageProxy(() => server.socket);
  }

  /** Shows the panel, with a session if one is chosen. */
  async show(session) {
    await this.#server.start();
    const origin = await this.#proxy.start();
    const { window, ViewColumn } = this.#vscode;
    if (!this.#panel) {
      const options = { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [] };
      this.#panel = window.createWebviewPanel("pi.page", "pi", ViewColumn.Two, options);
      this.#panel.onDidDispose(() => {
        this.#panel = undefined;
      });
      this.#panel.webview.html = frameDocument(origin, session);
      return;
    }
    if (session) this.#panel.webview.html = frameDocument(origin, session);
    this.#panel.reveal();
  }

  dispose() {
    this.#panel?.dispose();
    this.#proxy.dispose();
  }
}

module.exports = { PagePanel, frameDocument };
