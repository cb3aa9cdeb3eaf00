"use strict";

// The parts of the `vscode` module that the extension uses, without an editor.

const Module = require("node:module");

function createFake({ configuration = {}, cwd, answers = [] } = {}) {
  const fake = { commands: {}, panels: [], messages: [], output: "", asked: [] };
  const disposable = { dispose() {} };
  fake.module = {
    ViewColumn: { Two: 2 },
    commands: {
      registerCommand(name, run) {
        fake.commands[name] = run;
        return disposable;
      },
    },
    workspace: {
      workspaceFolders: cwd ? [{ uri: { fsPath: cwd } }] : undefined,
      getConfiguration: () => ({ get: (name, fallback) => configuration[name] ?? fallback }),
    },
    window: {
      activeTextEditor: undefined,
      createOutputChannel: () => ({
        append: (text) => (fake.output += text),
        appendLine: (text) => (fake.output += `${text}\n`),
        show() {},
        dispose() {},
      }),
      createWebviewPanel(type, title, column, options) {
        const panel = { type, title, column, options, webview: { html: "" }, revealed: 0 };
        panel.onDidDispose = (listener) => (panel.close = listener);
        panel.reveal = () => (panel.revealed += 1);
        panel.dispose = () => panel.close?.();
        fake.panels.push(panel);
        return panel;
      },
      showErrorMessage: async (text) => void fake.messages.push(text),
      showInformationMessage: async (text) => void fake.messages.push(text),
      showInputBox: async () => answers.shift(),
      showQuickPick: async (items, options) => {
        fake.asked.push({ items, options });
        return items[0];
      },
      withProgress: (_options, work) => work(),
    },
  };
  return fake;
}

/** Loads the extension with a fake editor and activates it. */
function activate(options) {
  const fake = createFake(options);
  const load = Module._load;
  const path = require.resolve("../extension.js");
  delete require.cache[path];
  Module._load = (request, ...rest) => (request === "vscode" ? fake.module : load(request, ...rest));
  let extension;
  try {
    extension = require(path);
  } finally {
    Module._load = load;
  }
  const context = { subscriptions: [] };
  extension.activate(context);
  fake.dispose = () => {
    for (const it of context.subscriptions.reverse()) it.dispose();
  };
  return fake;
}

module.exports = { activate };
