//! The JavaScript functions that Rust calls (`js/pi`).

use serde_json::{Value, json};

/// An exported function of an embedded module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JsFunction {
    pub(super) module: &'static str,
    pub(super) name: &'static str,
}

macro_rules! functions {
    ($( $constant:ident = $module:literal, $name:literal; )*) => {
        $(
            pub(super) const $constant: JsFunction = JsFunction { module: $module, name: $name };
        )*

        #[cfg(test)]
        const ALL: &[JsFunction] = &[$($constant),*];
    };
}

functions! {
    LOAD_EXTENSION = "pi:pi/registry", "loadExtension";
    SET_FLAGS = "pi:pi/registry", "setFlags";
    BIND = "pi:pi/registry", "bind";
    EMIT = "pi:pi/dispatch", "emit";
    RUN_COMMAND = "pi:pi/dispatch", "runCommand";
    COMPLETE_COMMAND = "pi:pi/dispatch", "completeCommand";
    RUN_SHORTCUT = "pi:pi/dispatch", "runShortcut";
    EXECUTE_TOOL = "pi:pi/tools", "execute";
    PREPARE_ARGUMENTS = "pi:pi/tools", "prepareArguments";
    PREPARE_LOADOUT = "pi:pi/tools", "prepareLoadout";
    STREAM = "pi:pi/providers", "stream";
    REFRESH_MODELS = "pi:pi/providers", "refreshModels";
    ROUTE = "pi:pi/virtual_models", "route";
    SIGN_IN = "pi:pi/providers", "signIn";
    REFRESH_CREDENTIAL = "pi:pi/providers", "refreshCredential";
    ABORT = "pi:pi/signals", "abort";
    RUN_CALLBACK = "pi:pi/callbacks", "runCallback";
    RENDER = "pi:pi/mount", "render";
    INPUT = "pi:pi/mount", "input";
    MOUSE = "pi:pi/mount", "mouse";
    FOCUS_CHANGED = "pi:pi/mount", "focusChanged";
    RENDER_TOOL = "pi:pi/rows", "renderTool";
    RENDER_CUSTOM = "pi:pi/rows", "renderCustom";
    TRANSFORM_MARKDOWN = "pi:pi/rows", "transformMarkdown";
    FORGET_ROWS = "pi:pi/rows", "forgetRows";
    RAW_INPUT = "pi:pi/screen", "rawInput";
    RESIZED = "pi:pi/screen", "resized";
    SCREEN_OPENED = "pi:pi/ui", "screenOpened";
    THEME_CHANGED = "pi:pi/screen", "themeChanged";
    BRANCH_CHANGED = "pi:pi/screen", "branchChanged";
    SET_EDITOR_TEXT = "pi:pi/prompt_editor", "setText";
    INSERT_EDITOR_TEXT = "pi:pi/prompt_editor", "insertText";
    ADD_EDITOR_HISTORY = "pi:pi/prompt_editor", "addToHistory";
    SUGGEST = "pi:pi/completion", "suggest";
    UNMOUNT_ALL = "pi:pi/mount", "unmountAll";
}

/// A call of the terminal UI of extensions. `id` is a mounted component or a row of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub enum UiCall {
    /// Renders a component. Returns its flags, then each line after a line feed; null if it is gone.
    Render {
        id: u64,
        width: usize,
    },
    /// Sends typed input to a component.
    Input {
        id: u64,
        data: String,
    },
    /// Sends a mouse event to a component.
    Mouse {
        id: u64,
        event: Value,
    },
    /// Notifies a component that it gained or lost focus.
    FocusChanged {
        id: u64,
        focused: bool,
    },
    /// Renders a tool call; `data` describes it.
    RenderTool {
        id: u64,
        width: usize,
        data: Value,
    },
    /// Renders a custom message or entry; `data` describes it.
    RenderCustom {
        id: u64,
        width: usize,
        data: Value,
    },
    /// Transforms the text of each part.
    TransformMarkdown {
        parts: Value,
        shared: Value,
    },
    /// Drops the state of rows.
    ForgetRows {
        ids: Vec<u64>,
    },
    /// Passes raw input. Returns the input to use instead; null if it was consumed.
    RawInput {
        data: String,
    },
    Resized,
    /// Extensions have a screen from now on.
    ScreenOpened,
    ThemeChanged {
        scheme: String,
    },
    /// Another Git branch is checked out.
    BranchChanged,
    /// Sets the text of an extension's editor.
    SetEditorText {
        text: String,
    },
    /// Inserts text at the cursor of an extension's editor.
    InsertEditorText {
        text: String,
    },
    /// Adds a text to the history of an extension's editor.
    AddEditorHistory {
        text: String,
    },
    /// Returns completions of the extensions' providers.
    Suggest {
        lines: Vec<String>,
        line: usize,
        /// In UTF-16 code units.
        column: usize,
        force: bool,
    },
}

impl UiCall {
    /// Returns the name of the JavaScript function, for error messages.
    pub fn name(&self) -> &'static str {
        self.function().name
    }

    pub(super) fn function(&self) -> JsFunction {
        match self {
            Self::Render { .. } => RENDER,
            Self::Input { .. } => INPUT,
            Self::Mouse { .. } => MOUSE,
            Self::FocusChanged { .. } => FOCUS_CHANGED,
            Self::RenderTool { .. } => RENDER_TOOL,
            Self::RenderCustom { .. } => RENDER_CUSTOM,
            Self::TransformMarkdown { .. } => TRANSFORM_MARKDOWN,
            Self::ForgetRows { .. } => FORGET_ROWS,
            Self::RawInput { .. } => RAW_INPUT,
            Self::Resized => RESIZED,
            Self::ScreenOpened => SCREEN_OPENED,
            Self::ThemeChanged { .. } => THEME_CHANGED,
            Self::BranchChanged => BRANCH_CHANGED,
            Self::SetEditorText { .. } => SET_EDITOR_TEXT,
            Self::InsertEditorText { .. } => INSERT_EDITOR_TEXT,
            Self::AddEditorHistory { .. } => ADD_EDITOR_HISTORY,
            Self::Suggest { .. } => SUGGEST,
        }
    }

    /// Returns the arguments of the JavaScript function.
    pub(super) fn into_values(self) -> Vec<Value> {
        match self {
            Self::Render { id, width } => vec![id.into(), width.into()],
            Self::Input { id, data } => vec![id.into(), data.into()],
            Self::Mouse { id, event } => vec![id.into(), event],
            Self::FocusChanged { id, focused } => vec![id.into(), focused.into()],
            Self::RenderTool { id, width, data } | Self::RenderCustom { id, width, data } => {
                vec![id.into(), width.into(), data]
            }
            Self::TransformMarkdown { parts, shared } => vec![parts, shared],
            Self::ForgetRows { ids } => vec![json!(ids)],
            Self::RawInput { data } => vec![data.into()],
            Self::Resized | Self::ScreenOpened | Self::BranchChanged => Vec::new(),
            Self::ThemeChanged { scheme } => vec![scheme.into()],
            Self::SetEditorText { text }
            | Self::InsertEditorText { text }
            | Self::AddEditorHistory { text } => vec![text.into()],
            Self::Suggest {
                lines,
                line,
                column,
                force,
            } => vec![json!(lines), line.into(), column.into(), force.into()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded;

    #[test]
    fn embedded_modules_export_every_function_that_rust_calls() {
        for JsFunction { module, name } in ALL {
            let exports = embedded::find(module).map(|module| module.exports);
            let is_exported = exports.is_some_and(|exports| exports.contains(name));
            assert!(is_exported, "{module} does not export {name}");
        }
    }
}
