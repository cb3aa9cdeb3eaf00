//! Key hints: the keys of an action and what they do.

use pi_tui::ColorToken;
use pi_tui::action;

use crate::theme::ui_theme::RenderContext;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    actions: Vec<&'static str>,
    /// A key that is not configurable.
    fixed: Option<&'static str>,
    description: String,
}

impl Hint {
    pub(super) fn key(action: &'static str, description: impl Into<String>) -> Self {
        Self {
            actions: vec![action],
            fixed: None,
            description: description.into(),
        }
    }

    /// Returns a hint for keys that belong together.
    pub(super) fn keys(actions: &[&'static str], description: &str) -> Self {
        Self {
            actions: actions.to_vec(),
            fixed: None,
            description: description.to_owned(),
        }
    }

    /// Returns a hint for a key that is not configurable.
    pub(super) fn fixed(key: &'static str, description: &str) -> Self {
        Self {
            actions: Vec::new(),
            fixed: Some(key),
            description: description.to_owned(),
        }
    }

    /// Returns the hint for the keys that move the selection.
    pub(super) fn movement() -> Self {
        Self::keys(&[action::SELECT_UP, action::SELECT_DOWN], "move")
    }

    /// Returns the hint for the key that closes the dialog.
    pub(super) fn leave(description: &str) -> Self {
        Self::key(action::SELECT_CANCEL, description)
    }

    /// Returns the styled hint; `None` if none of the actions has a key.
    pub(super) fn text(&self, ctx: &RenderContext) -> Option<String> {
        let keys: Vec<String> = self
            .actions
            .iter()
            .map(|action| ctx.key(action))
            .chain(self.fixed.map(str::to_owned))
            .filter(|key| !key.is_empty())
            .collect();
        if keys.is_empty() {
            return None;
        }
        Some(format!(
            "{} {}",
            ctx.paint(ColorToken::Dim, &join_keys(&keys)),
            ctx.paint(ColorToken::Muted, &self.description)
        ))
    }
}

/// Joins keys, writing common modifiers once: `ctrl+d/t/u`.
fn join_keys(keys: &[String]) -> String {
    let split = |key: &str| match key.rfind('+') {
        Some(at) if at + 1 < key.len() => {
            let (modifiers, name) = key.split_at(at + 1);
            (modifiers.to_owned(), key_symbol(name).to_owned())
        }
        _ => (String::new(), key_symbol(key).to_owned()),
    };
    let parts: Vec<(String, String)> = keys.iter().map(|key| split(key)).collect();
    let first = parts.first().map(|(modifiers, _)| modifiers.clone());
    let common = first.filter(|first| parts.iter().all(|(modifiers, _)| modifiers == first));
    match common {
        Some(modifiers) => {
            let names: Vec<&str> = parts.iter().map(|(_, name)| name.as_str()).collect();
            format!("{modifiers}{}", names.join("/"))
        }
        None => {
            let full: Vec<String> = parts
                .iter()
                .map(|(modifiers, name)| format!("{modifiers}{name}"))
                .collect();
            full.join("/")
        }
    }
}

fn key_symbol(key: &str) -> &str {
    match key {
        "up" => "↑",
        "down" => "↓",
        "left" => "←",
        "right" => "→",
        "pageUp" => "pgup",
        "pageDown" => "pgdn",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn common_modifiers_are_written_once() {
        let joined = |keys: &[&str]| {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            join_keys(&keys)
        };
        assert_eq!(joined(&["up", "down"]), "↑/↓");
        assert_eq!(joined(&["ctrl+left", "ctrl+right"]), "ctrl+←/→");
        assert_eq!(joined(&["ctrl+o", "shift+ctrl+o"]), "ctrl+o/shift+ctrl+o");
        assert_eq!(joined(&["+", "ctrl++"]), "+/ctrl++");
    }

    #[test]
    fn an_action_without_a_key_has_no_hint() {
        let ctx = RenderContext::for_tests();
        assert_eq!(Hint::key("app.session.new", "new").text(&ctx), None);
    }
}
