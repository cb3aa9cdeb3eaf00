//! The active keyboard shortcuts, grouped by where they apply.

use pi_tui::{
    ActionDefinition, ColorToken, Component, Keybindings, Lines, TruncateOptions, pad_to_width,
    truncate_to_width, visible_width,
};

use crate::theme::ui_theme::UiTheme;

/// Maximum width of the key column.
const MAX_KEYS_WIDTH: usize = 34;

/// Sections by action ID prefix.
const SECTIONS: [(&str, &[&str]); 8] = [
    (
        "Conversation",
        &[
            "app.interrupt",
            "app.clear",
            "app.exit",
            "app.suspend",
            "app.message.",
            "app.tools.",
        ],
    ),
    ("Model", &["app.model.", "app.thinking."]),
    (
        "Editor",
        &["tui.input.", "app.editor.", "app.clipboard.", "tui.editor."],
    ),
    ("Lists", &["tui.select."]),
    ("Sessions", &["app.session."]),
    ("Scoped models", &["app.models."]),
    ("Session tree", &["app.tree."]),
    ("Full screen", &["tui.altScreen."]),
];

/// Prefixes typed at the prompt.
const TYPED: [(&str, &str); 3] = [
    ("/", "Commands"),
    ("!", "Run a shell command"),
    ("!!", "Run a shell command, excluded from context"),
];

#[derive(Debug)]
pub(super) struct Hotkeys {
    ui: UiTheme,
}

impl Hotkeys {
    pub(super) fn new(ui: UiTheme) -> Self {
        Self { ui }
    }
}

/// Returns the keys of an action; `None` if it has none.
fn keys_of(action: &ActionDefinition, keys: &Keybindings) -> Option<String> {
    let names: Vec<String> = keys
        .keys(action.id)
        .iter()
        .map(ToString::to_string)
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns the sections with the actions that have keys.
fn sections(keys: &Keybindings) -> Vec<(&'static str, Vec<(String, String)>)> {
    SECTIONS
        .iter()
        .map(|(title, prefixes)| {
            let mut rows: Vec<(String, String)> = Vec::new();
            for prefix in *prefixes {
                let actions = keys.definitions().iter();
                rows.extend(
                    actions
                        .filter(|action| action.id.starts_with(prefix))
                        .filter_map(|action| {
                            Some((keys_of(action, keys)?, action.description.to_owned()))
                        }),
                );
            }
            if *title == "Editor" {
                let typed = TYPED.iter();
                rows.extend(typed.map(|(key, does)| ((*key).to_owned(), (*does).to_owned())));
            }
            (*title, rows)
        })
        .filter(|(_, rows)| !rows.is_empty())
        .collect()
}

impl Component for Hotkeys {
    fn render(&mut self, width: usize) -> Lines {
        let ctx = self.ui.context();
        let sections = sections(&ctx.keys);
        let widest = sections
            .iter()
            .flat_map(|(_, rows)| rows)
            .map(|(keys, _)| visible_width(keys))
            .max()
            .unwrap_or(0);
        let column = widest.min(MAX_KEYS_WIDTH).min(width / 2);
        let ellipsis = TruncateOptions { ellipsis: "…" };
        let mut lines: Vec<String> = Vec::new();
        for (title, rows) in sections {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.push(format!(
                " {}",
                ctx.style(ColorToken::MdHeading).bold().apply(title)
            ));
            for (keys, description) in rows {
                let keys = truncate_to_width(&keys, column, ellipsis);
                let keys = ctx.paint(ColorToken::Accent, &pad_to_width(&keys, column));
                lines.push(format!("   {keys}  {description}"));
            }
        }
        lines
            .into_iter()
            .map(|line| truncate_to_width(&line, width, ellipsis).into_owned())
            .collect()
    }
}
