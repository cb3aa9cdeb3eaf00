"use strict";

const vscode = require("vscode");
const { AcpClient } = require("./src/acp-client.js");
const { PagePanel } = require("./src/page-panel.js");
const { PiServer } = require("./src/pi-server.js");

/** @param {import("vscode").ExtensionContext} context */
function activate(context) {
  const output = vscode.window.createOutputChannel("pi");
  const settings = () => {
    const configuration = vscode.workspace.getConfiguration("pi");
    return {
      path: configuration.get("path", "pi"),
      args: configuration.get("args", []),
      cwd: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
    };
  };
  const server = new PiServer(settings, (line) => output.appendLine(line));
  const panel = new PagePanel(vscode, server);
  const acp = new AcpClient(settings, (line) => output.appendLine(line));

  const command = (name, run) => {
    const guarded = async (...args) => {
      try {
        return await run(...args);
      } catch (error) {
        output.appendLine(`error: ${error.message}`);
        void vscode.window.showErrorMessage(`pi: ${error.message}`);
        return undefined;
      }
    };
    context.subscriptions.push(vscode.commands.registerCommand(name, guarded));
  };

  command("pi.open", () => panel.show());
  command("pi.attach", async () => {
    const sessions = await server.liveSessions();
    if (sessions.length === 0) {
      void vscode.window.showInformationMessage("No session is running. Start one in the panel: pi: Open sessions.");
      return;
    }
    const items = sessions.map((it) => ({ label: it.name || it.preview || it.id, description: it.cwd, id: it.id }));
    const chosen = await vscode.window.showQuickPick(items, { placeHolder: "Attach to a running session" });
    if (chosen) await panel.show(chosen.id);
  });
  command("pi.ask", async () => {
    const editor = vscode.window.activeTextEditor;
    if (!editor) throw new Error("open a file first");
    const question = await vscode.window.showInputBox({ prompt: "Ask pi about the selection" });
    if (!question) return;
    const { document, selection } = editor;
    output.show(true);
    output.appendLine(`> ${question}`);
    await vscode.window.withProgress({ location: 10, title: "pi" }, async () => {
      const stopReason = await acp.ask(question, {
        uri: document.uri.toString(),
        text: document.getText(selection),
        line: selection.start.line + 1,
        write: (text) => output.append(text),
        permit: (title, options) => permit(title, options),
      });
      output.appendLine(stopReason === "end_turn" ? "" : `\n[${stopReason}]`);
    });
  });
  command("pi.stop", () => acp.cancel());
  context.subscriptions.push(output, panel, server, acp);
}

/** Asks the user about a tool call; returns the chosen option. */
async function permit(title, options) {
  const items = options.map((option) => ({ label: option.name, id: option.optionId }));
  return (await vscode.window.showQuickPick(items, { placeHolder: title, ignoreFocusOut: true }))?.id;
}

function deactivate() {}

module.exports = { activate, deactivate };
